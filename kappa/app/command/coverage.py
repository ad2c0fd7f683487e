"""``kappa coverage``."""

import pathlib

from kappa.app.command.arguments import parser
from kappa.core.ground.folders import SUITE

_DESCRIPTION = """\
Print, as Markdown, which check measures each figure of a paper or tender. Each row is measured on the embedded cluster,
not provided there, measured by a proxy, or missing. FILE lists the documents and the checks. The state of a row follows
from the description of the embedded site.

Exit status: 0 printed; 2 FILE cannot be used, or names an unknown check, feature or fabric."""
_EXAMPLES = """\
  kappa coverage                  the papers that the suite is based on
  kappa coverage tender.yaml      your own document, in the format of docs/coverage.yaml
"""


def run(arguments: list[str]) -> int:
    words = parser("coverage", _DESCRIPTION, _EXAMPLES)
    words.add_argument(
        "file", metavar="FILE", type=pathlib.Path, nargs="?",
        help="the list of documents (default: docs/coverage.yaml of the checkout)",
    )  # fmt: skip
    options = words.parse_args(arguments)
    from kappa.core.vocabulary.checks import catalogue
    from kappa.tools import coverage

    file = options.file or SUITE / coverage.DATA
    known = catalogue()
    print(coverage.page(coverage.read(file, known), known))
    return 0
