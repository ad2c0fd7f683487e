"""The checks, one folder for each subject. ``base`` has their common parts, ``parsers`` turn text into records.

Checks import core and ``spack_envs``, never ``reports``. Only ``kappa.app`` and a site's ``settings.py`` import checks.
"""
