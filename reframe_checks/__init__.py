"""The checks, by what they validate; ``base`` is what they share, ``parsers`` turn text into records.

They import core and ``spack_envs``, never ``reports``. Only ``kappa.app`` and a site's ``settings.py`` import them.
"""
