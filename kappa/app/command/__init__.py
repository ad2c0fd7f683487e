"""The command ``kappa``: one file for each subcommand, with its arguments, help and exit status.

``main.py`` lists the subcommands and turns errors into messages. No other package imports this one.
"""
