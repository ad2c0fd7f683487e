"""What every part of the suite stands on, from the bottom up: ``ground``, ``vocabulary``, ``record``, ``sites``.

``ground`` is what any program needs (whole files, bounded reading, clean text); ``vocabulary`` the tables of names that
sites and checks share; ``record`` what a check leaves behind; ``sites`` what a site says.
"""

__version__ = "0.1.0"
