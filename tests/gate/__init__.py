"""The steps of continuous integration, run one after the other: ``.ci/run`` and ``make check-all``.

Only the standard library: it runs before there is a Python environment.
"""
