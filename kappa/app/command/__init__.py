"""The command ``kappa``: a file for each subcommand, with its arguments, its help and its exit status.

``table.py`` names them, ``main.py`` turns errors into messages. Nothing imports it.
"""
