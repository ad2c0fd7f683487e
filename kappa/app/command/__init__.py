"""The command ``kappa``: a file for each command or group, whose ``add_arguments`` gets a parser.

``main.py`` lists the commands and turns errors into messages. No other package imports this one.
"""
