"""``kappa catalogue``."""

from kappa.app.command.arguments import parser
from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import installed
from kappa.core.ground.whole_files import write_atomically

_DESCRIPTION = """\
Print every check of the suite as a Markdown table: purpose, metrics and units, the features that a partition and an
environment must have, and how long a case takes.

In a checkout, --write renews the generated files: docs/catalogue.md, a page for each check in docs/checks/, the tables
of docs/site-reference.md and docs/coverage.md, and kappa/core/vocabulary/checks.json. `kappa docs` prints the pages.

Exit status: 0 done; 1 --check found a file that is out of date; 2 error."""
_EXAMPLES = """\
  kappa catalogue > checks.md
  kappa catalogue --write
"""


def run(arguments: list[str]) -> int:
    words = parser("catalogue", _DESCRIPTION, _EXAMPLES)
    chosen = words.add_mutually_exclusive_group()
    chosen.add_argument("--write", action="store_true", help="renew the files that are out of date")
    chosen.add_argument("--check", action="store_true", help="list the files that are out of date; write nothing")
    options = words.parse_args(arguments)
    from kappa.tools import catalogue

    if (options.write or options.check) and installed():
        raise InputError("--write and --check need a checkout: an installed suite has no pages")
    cases = catalogue.described_cases()
    if options.write:
        catalogue.renew(cases)
        for path, text in catalogue.stale(cases).items():
            if text is None:
                path.unlink()
            else:
                path.parent.mkdir(exist_ok=True)
                write_atomically(path, text, 0o644)
            print(f"{'removed' if text is None else 'written'}: {clean(str(path))}")
    elif options.check:
        if stale := catalogue.stale(cases):
            print(f"out of date: {clean(', '.join(map(str, stale)))}: run `make catalogue`")
            return 1
    else:
        print(catalogue.page(cases))
    return 0
