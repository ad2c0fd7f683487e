"""``kappa verify``."""

import pathlib

from kappa.app.command.arguments import parser
from kappa.core.ground.clean_text import clean

_DESCRIPTION = """\
Compare every file of a dossier with its manifest and signatures, and verdict and page with the raw results.

Exit status: 0 nothing was altered, 1 something was altered, is missing or was added, 2 it is no dossier, or something
cannot be checked: a signature, or a page that another version of the suite made."""


def run(arguments: list[str]) -> int:
    words = parser("verify", _DESCRIPTION, "  kappa verify results/embedded/acceptance/dossier\n")
    words.add_argument("dossier", metavar="DOSSIER", type=pathlib.Path)
    words.add_argument(
        "--key", metavar="KEY", action="append", default=[],
        help="who must have signed: a GnuPG fingerprint, or the file of minisign's public key; once for each party",
    )  # fmt: skip
    options = words.parse_args(arguments)
    from reports.acceptance.dossier import verify

    proof = verify(options.dossier, options.key)
    for line in (*proof.problems, *proof.unchecked, *proof.good):
        print(clean(line))
    print(("intact", "ALTERED", "intact as far as checked")[proof.exit_status])
    return proof.exit_status
