"""List the programs and libraries of a site that changed since they were accepted. The check SoftwareInventory fails
until you accept the changes. Kappa accepts the programs of the first run.

Exit status: 0 nothing has changed, 1 something has changed, 2 there is no inventory of programs yet.

examples:
  kappa site software embedded
  kappa site software embedded --accept
"""

import argparse

from kappa.app.command.arguments import CommandParser, add_site, require_described
from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import results_folder


def add_arguments(to: CommandParser) -> None:
    to.describe(__doc__, run)
    add_site(to, results=True)
    to.add_argument("--accept", action="store_true", help="accept the programs that the newest run found")


def run(options: argparse.Namespace) -> int:
    from kappa.core.record.software import changes, kept_in

    require_described(options.site)
    changed = False
    inventories = kept_in(results := results_folder(options.site))
    if not inventories:
        raise InputError(
            f"{clean(str(results))}: no inventory of programs: run `kappa validate {options.site}`, whose check"
            " SoftwareInventory writes it"
        )
    for kept in inventories:
        accepted, found = kept.accepted(), kept.found()
        different = changes(accepted.files, found.files) if accepted and found else []
        if options.accept and found:
            kept.accept()
        since = f"accepted on {accepted.since}" if accepted else "not accepted"
        print(f"{kept.name}: {since}; {len(different)} changed{' and accepted now' if options.accept else ''}")
        for line in different:
            print(f"  {clean(line)}")
        changed = changed or bool(different)
    return int(changed and not options.accept)
