"""The command ``kappa``: a file for each subcommand, with its arguments, its help and its exit status.

``main.py`` names them and turns errors into messages. Nothing imports it.
"""
