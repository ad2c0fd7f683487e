"""``kappa acceptance``: the actions of ``acceptance.py``, which parses its own arguments, and ``verify``."""

import argparse
import functools

from kappa.app.command.arguments import CommandParser

_OWN = {
    "plan": "print what would run; submit nothing",
    "run": "run the remaining repeats of the contract",
    "time": "time a restart, failover, reboot or start, once",
    "report": "write the dossier of the runs in DIR",
    "sign": "sign a finished dossier",
    "log": "the outage log: collect, add, agree, show",
}


def add_arguments(to: CommandParser) -> None:
    to.describe("Check a contract, clause by clause, with repeated runs.")
    for name, summary in _OWN.items():
        to.add_command(name, summary, functools.partial(_add_own, name))
    to.add_command("verify", "check that a dossier is unaltered", "verify")


def _add_own(name: str, to: CommandParser) -> None:
    to.take_all(functools.partial(_run, name))


def _run(name: str, options: argparse.Namespace) -> int:
    from kappa.app.command import acceptance

    return acceptance.run([name, *options.arguments])
