"""``kappa cluster``: run the cluster program of a site, which needs no Python environment."""

import argparse
import os
import sys
from typing import NoReturn

from kappa.app.command.arguments import CommandParser
from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import home, known_sites

_OPTION = "--site="
#: A program beside ``cluster`` that installs what the site needs.
_SETUP = "setup"


def add_arguments(to: CommandParser) -> None:
    to.take_all(run)


def run(options: argparse.Namespace) -> NoReturn:
    from kappa.app.conduct.own_cluster import program

    arguments = options.arguments
    clusters = {name: cluster for name, site in known_sites().items() if (cluster := program(site))}
    given = [arguments.pop(0).removeprefix(_OPTION)] if arguments and arguments[0].startswith(_OPTION) else [*clusters]
    if len(given) != 1 or given[0] not in clusters:
        known = ", ".join(clusters) or "none"
        raise InputError(f"expected `kappa cluster {_OPTION}SITE …`; sites that start their own cluster: {known}")
    cluster = clusters[given[0]]
    command = [str(cluster), *arguments]
    if arguments[:1] == [_SETUP]:
        setup = cluster.with_name(_SETUP)
        if not setup.is_file():
            raise InputError(f"{given[0]} has no program {_SETUP}: its cluster needs no setup")
        command = [str(setup), str(home()), sys.executable, *arguments[1:]]
    sys.stdout.flush()
    os.execv(command[0], command)
