"""Keep the outage log of an acceptance run, DIR/outages.jsonl. Kappa only appends to it, and each line has the hash of
the line before. docs/acceptance.md has the terms.

Exit status: 0 done; 1 collect: the time is not observed yet; 2 an error.

examples:
  kappa acceptance log DIR add begin --start 2026-12-01T08:00+01:00 --party buyer
  kappa acceptance log DIR agree 1 --party buyer --party vendor
  kappa acceptance log DIR collect                        daily, by cron
  kappa acceptance log DIR add node_interrupt --nodes n017 --start 2026-12-03T03:58Z --end 2026-12-03T07:10Z \\
      --cause "power supply of n017" --attribution vendor --supersedes 4 --party vendor
  kappa acceptance log DIR show --open --since 2026-12-01T00:00Z
"""

from __future__ import annotations

import argparse
import pathlib
from typing import TYPE_CHECKING

from kappa.app.command.arguments import CommandParser, add_json, alone, checked, moment, write_json
from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import site_folder

if TYPE_CHECKING:
    from reports.acceptance.kinds.clause import Contract
    from reports.acceptance.outages.log import LogEntry

# Kinds of entries that a party may write; only Kappa writes the others.
_BY_HAND = ("begin", "observed", "system_interrupt", "node_interrupt", "job_interrupt", "void")
_CLEARED = {"end": None, "scheduled": False, "attribution": None, "exclusion": None}


def add_arguments(to: CommandParser) -> None:
    to.describe(__doc__)
    to.add_argument("folder", metavar="DIR", type=pathlib.Path, help="the folder of the acceptance run")
    to.add_argument("--contract", metavar="FILE", type=pathlib.Path, help="the contract of a folder that has none yet")
    to.add_command(
        "collect", "ask Slurm, keep its answers in DIR/raw, append entries", lambda to: to.set_defaults(act=_collect)
    )
    to.add_command("add", "append an entry or a correction by hand", _add_add)
    to.add_command("agree", "agree to entries", _add_agree)
    to.add_command("show", "print entries, and who agreed", _add_show)


@checked
def _nodes(text: str) -> tuple[str, ...]:
    from kappa.core.ground.node_lists import expand_nodes

    return tuple(expand_nodes(text))


def _range(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def _contract(options: argparse.Namespace) -> Contract:
    from reports.acceptance.campaign.folder import Campaign
    from reports.acceptance.campaign.layout import CONTRACT
    from reports.acceptance.contract import binding_contract, freeze

    if options.contract:
        with Campaign(options.folder).locked():
            freeze(options.folder, options.contract)
    kept = options.folder / CONTRACT
    if not kept.exists():
        raise InputError(f"there is no {clean(str(kept))}: name the contract with --contract FILE")
    contract = binding_contract(options.folder)
    for party in getattr(options, "party", ()):
        if party not in contract.parties:
            raise InputError(f"--party {clean(party)}: expected one of {', '.join(contract.parties)}")
    if contract.observation is None:
        raise InputError(f"{clean(str(kept))} has no contract.observation, so no outage log")
    return contract


def _collect(options: argparse.Namespace) -> int:
    from kappa.app.conduct.node_commands import NodeCommands
    from kappa.app.conduct.outage_collecting import collect
    from kappa.core.sites.load import Site
    from reports.acceptance.listing import say

    contract = _contract(options)
    description = Site(site_folder(contract.system)).description
    if description is None:
        raise InputError(f"the site {contract.system} has no site.yaml, so its Slurm cannot be asked")
    lines, observed = collect(options.folder, contract, NodeCommands(description))
    for line in lines:
        say(line)
    return 0 if observed else 1


def _add_add(to: CommandParser) -> None:
    # Only given fields replace those of a corrected entry.
    to.argument_default = argparse.SUPPRESS
    to.add_argument("what", metavar="WHAT", choices=_BY_HAND, help=", ".join(_BY_HAND))
    to.add_argument("--party", metavar="ROLE", required=True, nargs=1, help="who writes it: a role of the contract")
    to.add_argument("--start", metavar="TIME", type=moment, help="with a zone: 2026-12-03T03:58Z")
    to.add_argument("--end", metavar="TIME", type=moment, help="without it the outage goes on")
    to.add_argument("--nodes", metavar="LIST", type=_nodes, help="such as n[001-032]")
    to.add_argument("--scheduled", action="store_true", help="agreed before it begins, as the contract asks")
    to.add_argument("--cause", metavar="TEXT", help="outages of one cause may be one interrupt")
    to.add_argument("--attribution", choices=("vendor", "site", "external", "other"))
    to.add_argument("--exclusion", metavar="TEXT", help="one of the contract's list")
    to.add_argument("--note", metavar="TEXT", type=lambda text: one_line(clean(text), 900))
    to.add_argument("--supersedes", metavar="ID", help="the entry that this corrects; other fields stay")
    clear = "with --supersedes: take this field back; more than once"
    to.add_argument("--clear", action="append", default=[], choices=_CLEARED, help=clear)
    to.set_defaults(act=_add)


def _add(options: argparse.Namespace) -> int:
    from reports.acceptance.listing import say
    from reports.acceptance.outages.log import Draft, draft_by_hand, writing

    terms = _contract(options).observation
    assert terms
    cleared = {name: _CLEARED[name] for name in options.clear}
    given = {name: value for name, value in vars(options).items() if name in Draft.__struct_fields__}
    with writing(options.folder) as log:
        (number,) = log.append([draft_by_hand(log, terms, options.party[0], {**cleared, **given})])
    say(f"line {number}: {options.what}; it counts once all parties agree: kappa acceptance log DIR agree {number} …")
    return 0


def _add_agree(to: CommandParser) -> None:
    numbers = checked(_range, "a number or FIRST-LAST")
    to.add_argument("ids", metavar="ID", nargs="+", type=numbers, help="entries, as numbers or FIRST-LAST")
    to.add_argument("--party", metavar="ROLE", required=True, action="append", help="who agrees; more than once")
    to.set_defaults(act=_agree)


def _agree(options: argparse.Namespace) -> int:
    from reports.acceptance.listing import say
    from reports.acceptance.outages.log import Draft, writing

    _contract(options)
    with writing(options.folder) as log:
        ids = tuple(str(number) for number in log.latest if any(number in numbers for numbers in options.ids))
        if not ids:
            raise InputError("there is no such entry, or it was corrected before: see kappa acceptance log DIR show")
        log.append([Draft(by=party, source="hand", what="agreement", about=ids) for party in options.party])
    say(f"{', '.join(options.party)} agreed to {', '.join(ids)}")
    return 0


def _add_show(to: CommandParser) -> None:
    to.add_argument("--what", metavar="WHAT", action="append", help="only entries of this kind; more than once")
    to.add_argument("--nodes", metavar="LIST", type=_nodes, default=(), help="only entries about these nodes")
    to.add_argument("--since", metavar="TIME", type=moment, help="only entries that last until then, or begin later")
    to.add_argument("--open", action="store_true", help="only entries that a party did not agree to")
    add_json(to)
    to.set_defaults(act=_show)


def _show(options: argparse.Namespace) -> int:
    from kappa.core.ground.figures import aligned
    from reports.acceptance.listing import say
    from reports.acceptance.outages.log import load_log, to_json

    contract = _contract(options)
    log, parties = load_log(options.folder), tuple(contract.parties)
    entries = [
        entry
        for entry in log.latest.values()
        if (not options.what or entry.what in options.what)
        and (not options.nodes or not set(options.nodes).isdisjoint(entry.nodes))
        and (not options.since or entry.end is None or entry.end >= options.since)
        and (not options.open or (entry.source != "collect" and log.lacking(entry, parties)))
    ]
    write_json(options.json, to_json(log, entries, parties))
    if alone(options.json):
        return 0
    header = ("entry", "what", "nodes", "start (UTC)", "end", "cause", "attribution", "not agreed by", "note")
    for line in aligned([header, *(_row(entry, log.lacking(entry, parties)) for entry in entries)]):
        say(line)
    for remark in log.remarks:
        say(remark)
    say(f"{log.lines} lines, the last has the SHA-256 {log.last_hash}")
    return 0


def _row(entry: LogEntry, lacking: list[str]) -> tuple[str, ...]:
    from kappa.core.ground.node_lists import folded

    start, end = (f"{time:%F %T}" if time else "–" for time in (entry.start, entry.end))
    attribution = "scheduled" if entry.scheduled else entry.exclusion or entry.attribution or "–"
    where, note = folded(entry.nodes) or "system", one_line(entry.note, 80)
    return (entry.id, entry.what, where, start, end, entry.cause, attribution, ", ".join(lacking), note)
