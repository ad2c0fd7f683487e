"""Check that a dossier is unaltered. Kappa compares every file with the manifest, the signatures and the chain of
measurements, the verdict and the page with the raw results, and each figure with the raw output, which the checks read
again. It lists the attempts that do not count and the figures that it cannot compare.

Exit status: 0 nothing was altered, and the dossier is signed, 1 a file or a figure was altered, added or is missing, a
signature is bad, or a required key did not sign, 2 the folder is no dossier, or something is not proven: the dossier is
not signed, there is no chain, or a signature, an attempt, a figure or the page of another version cannot be checked.

examples:
  kappa acceptance verify results/embedded/acceptance/dossier
"""

import argparse
import pathlib

from kappa.app.command.arguments import CommandParser
from kappa.core.ground.clean_text import clean


def add_arguments(to: CommandParser) -> None:
    to.describe(__doc__, run)
    to.add_argument("dossier", metavar="DOSSIER", type=pathlib.Path)
    to.add_argument(
        "--key", metavar="KEY", action="append", default=[],
        help="require the signature of KEY, a GnuPG fingerprint or a file with minisign's public key; repeat for more",
    )  # fmt: skip


def run(options: argparse.Namespace) -> int:
    from kappa.app.conduct.rereading import prove

    proof = prove(options.dossier, options.key)
    for line in (*proof.problems, *proof.unchecked, *proof.good):
        print(clean(line))
    print(("intact", "ALTERED", "intact as far as checked")[proof.exit_status])
    return proof.exit_status
