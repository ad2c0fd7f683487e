"""``kappa coverage``."""

import pathlib

from kappa.app.command.arguments import parser
from kappa.core.ground.folders import SUITE

_DESCRIPTION = """\
Print what documents measure and which checks measure it, as Markdown: each row is measured on the embedded cluster, not
provided there, measured by a proxy, or missing. FILE names the documents and the checks; the state of a row follows
from what the embedded site states.

Exit status: 0 printed; 2 FILE cannot be used, or names a check, a feature or a fabric that is not there."""
_EXAMPLES = """\
  kappa coverage                  the papers that the suite goes back to
  kappa coverage tender.yaml      a document of your own, written as docs/coverage.yaml
"""


def run(arguments: list[str]) -> int:
    words = parser("coverage", _DESCRIPTION, _EXAMPLES)
    words.add_argument(
        "file", metavar="FILE", type=pathlib.Path, nargs="?",
        help="the documents (default: docs/coverage.yaml of the checkout)",
    )  # fmt: skip
    options = words.parse_args(arguments)
    from kappa.core.vocabulary.checks import catalogue
    from kappa.tools import coverage

    file = options.file or SUITE / coverage.DATA
    known = catalogue()
    print(coverage.page(coverage.read(file, known), known))
    return 0
