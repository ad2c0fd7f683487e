"""``kappa tender``: ``pack``, ``adopt``, ``sign`` and ``verify``."""

import argparse
import pathlib

from kappa.app.command.arguments import parser
from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.figures import counted

_DESCRIPTION = """\
Ask for bids on a contract, and make a bid the contract.

`pack` writes the contract without its thresholds, the frozen inputs by SHA-256, and the form of a bid.
`adopt` refuses a bid that leaves out a clause or changes an input, and names each line. The committed figures become
the thresholds.

Exit status: 0 done, 1 `verify` found an altered file or a bad signature, 2 refused, or something cannot be checked."""
_EXAMPLES = """\
  kappa tender pack acceptance.yaml -o pack          write the pack for the bidders
  cp pack/bid.yaml bid.yaml                          the bidder fills in the copy
  kappa tender adopt pack bid.yaml                   check the bid
  kappa tender adopt pack bid.yaml -o contract.yaml  write the contract
  kappa tender sign contract.yaml gpg --party vendor
  kappa acceptance plan mycluster --contract contract.yaml
"""


def run(arguments: list[str]) -> int:
    options = _parse(arguments)
    return int(options.act(options))


def _parse(arguments: list[str]) -> argparse.Namespace:
    words = parser("tender", _DESCRIPTION, _EXAMPLES)
    actions = words.add_subparsers(dest="action", required=True, metavar="ACTION")

    packing = actions.add_parser("pack", help="write the tender pack of a contract")
    packing.add_argument("contract", metavar="CONTRACT", type=pathlib.Path, help="a contract with the key rules")
    packing.add_argument(
        "-o", "--output", metavar="DIR", type=pathlib.Path, required=True, help="write into this new folder"
    )
    packing.add_argument("--no-pdf", action="store_true", help="write no PDF of the form")
    packing.set_defaults(act=_pack)

    adopting = actions.add_parser("adopt", help="check a bid, and write the contract")
    adopting.add_argument("pack", metavar="PACK", type=pathlib.Path, help="the folder of `kappa tender pack`")
    adopting.add_argument("bid", metavar="BID", type=pathlib.Path, help="the form, filled in")
    adopting.add_argument(
        "-o", "--output", metavar="FILE", type=pathlib.Path, help="write the contract to FILE (default: only check)"
    )
    adopting.set_defaults(act=_adopt)

    signing = actions.add_parser("sign", help="sign a pack, or a contract before the acceptance")
    signing.add_argument("paper", metavar="PAPER", type=pathlib.Path, help="a pack, or the file of a contract")
    signing.add_argument("how", metavar="HOW", help="gpg, gpg:KEY or minisign:SECRET_KEY_FILE")
    signing.add_argument("--party", metavar="NAME", default="", help="who signs; part of the signature's file name")
    signing.set_defaults(act=_sign)

    verifying = actions.add_parser("verify", help="check a pack, or a contract with its signatures")
    verifying.add_argument("paper", metavar="PAPER", type=pathlib.Path, help="a pack, or the file of a contract")
    verifying.add_argument(
        "--key", metavar="KEY", action="append", default=[], help="require the signature of KEY, as `acceptance verify`"
    )
    verifying.set_defaults(act=_verify)
    return words.parse_args(arguments)


def _pack(options: argparse.Namespace) -> int:
    from kappa.core.ground.folders import suite_revision
    from reports.acceptance.tender import write_pack

    for clause in write_pack(options.contract, options.output, suite_revision(), not options.no_pdf):
        print(f"note: the text of {clause} has the number that the pack leaves out; bidders can read it")
    print(f"pack: {clean(str(options.output))}")
    return 0


def _adopt(options: argparse.Namespace) -> int:
    from kappa.core.ground.whole_files import write_atomically
    from reports.acceptance.bid import adopt, changed_sources

    if options.output and options.output.exists():
        raise InputError(f"{clean(str(options.output))} exists; Kappa overwrites no contract; give another file")
    text = adopt(options.pack, options.bid)
    changed = changed_sources(options.pack)
    if changed:
        print(f"note: this suite differs from the frozen one in {counted(len(changed), 'source')}, first {changed[0]}")
    if options.output:
        write_atomically(options.output, text)
        print(f"contract: {clean(str(options.output))}")
    else:
        print("the bid is complete; write the contract with -o FILE")
    return 0


def _sign(options: argparse.Namespace) -> int:
    from reports.acceptance.signed_papers import sign_paper

    print(f"signed: {clean(str(sign_paper(options.paper, options.how, options.party)))}")
    return 0


def _verify(options: argparse.Namespace) -> int:
    from reports.acceptance.signed_papers import verify_paper

    proof = verify_paper(options.paper, options.key)
    for line in (*proof.problems, *proof.unchecked, *proof.good):
        print(clean(line))
    return proof.exit_status
