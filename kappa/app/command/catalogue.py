"""``kappa catalogue``."""

from kappa.app.command.arguments import parser

_DESCRIPTION = """\
Print every check of the suite as a Markdown table: purpose, metrics and units, the features that a partition and an
environment must have, and how long a case takes.

Exit status: 0 the table is printed."""


def run(arguments: list[str]) -> int:
    parser("catalogue", _DESCRIPTION, "  kappa catalogue > checks.md\n").parse_args(arguments)
    from kappa.core.vocabulary.check_pages import table
    from kappa.core.vocabulary.checks import catalogue

    print(table(catalogue()))
    return 0
