"""``kappa cluster``: the program of a site that brings its cluster, which runs without any Python environment, too."""

import os
import sys
from typing import NoReturn

from kappa.conduct.own_cluster import program
from kappa.ground.errors import InputError
from kappa.sites.places import SITES, root

_OPTION = "--site="


def run(arguments: list[str]) -> NoReturn:
    clusters = {site.name: cluster for site in sorted((root() / SITES).iterdir()) if (cluster := program(site))}
    given = [arguments.pop(0).removeprefix(_OPTION)] if arguments and arguments[0].startswith(_OPTION) else [*clusters]
    if len(given) != 1 or given[0] not in clusters:
        known = ", ".join(clusters) or "none"
        raise InputError(f"expected kappa cluster {_OPTION}SITE …; the sites that bring a cluster are {known}")
    cluster = clusters[given[0]]
    sys.stdout.flush()
    os.execv(cluster, [str(cluster), *arguments])
