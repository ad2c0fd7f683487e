"""``kappa acceptance log DIR``: ``collect``, ``add``, ``agree`` and ``show``."""

from __future__ import annotations

import argparse
import datetime
import json
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kappa.app.command.arguments import add_json, alone, write_json
from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import site_folder

if TYPE_CHECKING:
    from reports.acceptance.outage_log import LogEntry, OutageLog

    from kappa.core.sites.contract import Contract
    from kappa.core.sites.outage_clauses import OutageTerms

# Words that a party may write; only Kappa writes the other words of the log.
EVENTS = ("begin", "observed", "system_interrupt", "node_interrupt", "job_interrupt", "void")
_MAY_BE_CLEARED = ("end", "scheduled", "attribution", "exclusion")
_EXAMPLES = """\
  kappa acceptance log DIR add begin --start 2026-12-01T08:00+01:00 --party buyer
  kappa acceptance log DIR agree 1 --party buyer --party vendor
  kappa acceptance log DIR collect                        daily, by cron
  kappa acceptance log DIR add node_interrupt --nodes n017 --start 2026-12-03T03:58Z --end 2026-12-03T07:10Z \\
      --cause "power supply of n017" --attribution vendor --supersedes 4 --party vendor
  kappa acceptance log DIR agree --week 2026-W49 --sign gpg --party vendor
  kappa acceptance log DIR show"""


def add_log(actions: Any) -> None:
    """Add the subcommand ``log`` to those of ``kappa acceptance``."""
    raw = argparse.RawDescriptionHelpFormatter
    log = actions.add_parser(
        "log",
        formatter_class=raw,
        help="the outage log: collect, add, agree, show",
        description="Keep the outage log of an acceptance run, DIR/outages.jsonl: appended only, each line with the\n"
        "hash of the line before. docs/acceptance.md has the terms.\n"
        "Exit status: 0 done; 1 collect: the time is not observed yet; 2 an error.",
        epilog=_EXAMPLES,
    )
    log.add_argument("folder", metavar="DIR", type=pathlib.Path, help="the folder of the acceptance run")
    log.add_argument("--contract", metavar="FILE", type=pathlib.Path, help="the contract of a folder that has none yet")
    what = log.add_subparsers(dest="log_action", required=True, metavar="ACTION")

    collecting = what.add_parser("collect", help="ask Slurm, keep its answers in DIR/raw, propose entries")
    collecting.set_defaults(act=_collect)

    adding = what.add_parser("add", help="append an entry or a correction by hand")
    adding.add_argument("what", metavar="WHAT", choices=EVENTS, help=", ".join(EVENTS))
    adding.add_argument("--party", metavar="ROLE", required=True, help="who writes it: a role of the contract")
    adding.add_argument("--start", metavar="TIME", type=moment, help="with a zone: 2026-12-03T03:58Z")
    adding.add_argument("--end", metavar="TIME", type=moment, help="without it the outage goes on")
    adding.add_argument("--nodes", metavar="LIST", default="", help="such as n[001-032]")
    adding.add_argument("--scheduled", action="store_true", help="agreed before it begins, as the contract asks")
    adding.add_argument("--cause", metavar="TEXT", default=None, help="outages of one cause may be one interrupt")
    adding.add_argument("--attribution", choices=("vendor", "site", "external", "other"))
    adding.add_argument("--exclusion", metavar="TEXT", help="one of the contract's list")
    adding.add_argument("--note", metavar="TEXT", default="")
    adding.add_argument("--supersedes", metavar="ID", help="the entry that this corrects; other fields stay")
    adding.add_argument(
        "--clear", metavar="FIELD", action="append", default=[], choices=_MAY_BE_CLEARED,
        help=f"with --supersedes: take this back ({', '.join(_MAY_BE_CLEARED)}); more than once",
    )  # fmt: skip
    adding.set_defaults(act=_add)

    agreeing = what.add_parser("agree", help="agree to entries, or sign a week")
    agreeing.add_argument("ids", metavar="ID", nargs="*", help="entries, as numbers or FIRST-LAST")
    agreeing.add_argument("--party", metavar="ROLE", required=True, action="append", help="who agrees; more than once")
    agreeing.add_argument("--week", metavar="WEEK", help="sign the last line of a week that has ended: 2026-W49")
    agreeing.add_argument("--sign", metavar="HOW", help="gpg, gpg:KEY or minisign:SECRET_KEY_FILE")
    agreeing.set_defaults(act=_agree)

    showing = what.add_parser("show", help="print entries, who agreed, and which weeks are signed")
    add_json(showing)
    showing.set_defaults(act=_show)


def moment(text: str) -> datetime.datetime:
    """Return a time of the command line in UTC.

    :raises ArgumentTypeError: it is no time, or has no zone.
    """
    try:
        found = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a time such as 2026-12-03T03:58Z, found {text[:40]!r}") from None
    if found.tzinfo is None:
        # In autumn an hour is there twice.
        raise argparse.ArgumentTypeError(f"expected a time with its zone, such as {text}Z or {text}+01:00")
    return found.astimezone(datetime.UTC)


def _contract(options: argparse.Namespace) -> tuple[Contract, OutageTerms]:
    from reports.acceptance.campaign import CONTRACT, Campaign

    campaign = Campaign(options.folder)
    if options.contract:
        with campaign.locked():
            campaign.freeze(options.contract)
    if not (options.folder / CONTRACT).exists():
        where = clean(str(options.folder))
        raise InputError(f"{where} has no {CONTRACT}: name the contract with --contract FILE")
    contract = campaign.contract
    if contract.observation is None:
        raise InputError(f"{clean(str(options.folder / CONTRACT))} has no contract.observation, so no outage log")
    return contract, contract.observation


def _party(contract: Contract, name: str) -> str:
    if name not in contract.parties:
        raise InputError(f"--party {clean(name)}: expected one of {', '.join(contract.parties)}")
    return name


def _collect(options: argparse.Namespace) -> int:
    from kappa.app.conduct.node_commands import NodeCommands
    from kappa.app.conduct.outage_collecting import collect
    from kappa.core.sites.load import Site
    from reports.acceptance.listing import say

    contract, _ = _contract(options)
    description = Site(site_folder(contract.system)).description
    if description is None:
        raise InputError(f"the site {contract.system} has no site.yaml, so its Slurm cannot be asked")
    said, observed = collect(options.folder, contract, NodeCommands(description))
    for line in said:
        say(line)
    return 0 if observed else 1


def _add(options: argparse.Namespace) -> int:
    from reports.acceptance.outage_log import UNKNOWN, Draft, writing

    from kappa.core.ground.node_lists import unfolded
    from kappa.core.sites.outage_clauses import MOST_NODES
    from reports.acceptance.listing import say

    contract, terms = _contract(options)
    party = _party(contract, options.party)
    if options.exclusion is not None and options.exclusion not in terms.exclusions:
        legal = ", ".join(terms.exclusions) or "none"
        raise InputError(f"--exclusion {clean(options.exclusion)}: the contract's list has {legal}")
    try:
        nodes = unfolded(options.nodes, MOST_NODES) if options.nodes else ()
    except ValueError as err:
        raise InputError(f"--nodes: {err}") from None
    strange = sorted(set(nodes) - set(terms.node_names))
    if strange:
        raise InputError(f"--nodes: the contract does not have {', '.join(strange[:5])}")
    with writing(options.folder) as log:
        before = _before(log.log, options.supersedes) if options.supersedes else None
        start = options.start or (_utc(before.start) if before else None)
        nodes = nodes or (before.nodes if before else ())
        if start is None or (options.what == "node_interrupt" and not nodes):
            raise InputError(f"{options.what}: expected --start{'' if start is None else ' and --nodes'}")

        def kept(field: str) -> Any:
            return getattr(before, field) if before and field not in options.clear else None

        end = options.end or (None if (last := kept("end")) is None else _utc(last))
        if options.what in ("observed", "job_interrupt") and end is None:
            raise InputError(f"{options.what}: expected --end")
        draft = Draft(
            by=party, source="hand", what=options.what, nodes=nodes, start=start, end=end,
            scheduled=options.scheduled or bool(kept("scheduled")),
            cause=options.cause or (before.cause if before else UNKNOWN),
            attribution=options.attribution or kept("attribution"),
            exclusion=options.exclusion or kept("exclusion"),
            evidence=before.evidence if before else (), note=one_line(clean(options.note), 900),
            supersedes=options.supersedes,
        )  # fmt: skip
        (number,) = log.append([draft])
    say(f"line {number}: {options.what}; it counts once all parties agree: kappa acceptance log DIR agree {number} …")
    return 0


def _before(log: OutageLog, number: str) -> LogEntry:
    entry = log.latest.get(int(number)) if number.isdecimal() else None
    if entry is None:
        raise InputError(f"--supersedes {clean(number)}: there is no such entry, or it was corrected before")
    return entry


def _agree(options: argparse.Namespace) -> int:
    import time

    from reports.acceptance.outage_log import Draft, writing
    from reports.acceptance.outage_weeks import sign_week

    from reports.acceptance.listing import say

    contract, _ = _contract(options)
    parties = [_party(contract, name) for name in options.party]
    if bool(options.week) != bool(options.sign) or bool(options.week) == bool(options.ids):
        raise InputError("expected entries to agree to, or --week and --sign")
    if options.week:
        for party in parties:
            say(f"signed: {sign_week(options.folder, options.week, options.sign, party, time.time())}")
        return 0
    with writing(options.folder) as log:
        ids = tuple(str(number) for text in options.ids for number in _range(text) if number in log.log.latest)
        if not ids:
            raise InputError(f"{' '.join(options.ids)}: there is no such entry, or it was corrected before")
        log.append([Draft(by=party, source="hand", what="agreement", about=ids) for party in parties])
    say(f"{', '.join(parties)} agreed to {', '.join(ids)}")
    return 0


def _range(text: str) -> range:
    first, _, last = text.partition("-")
    if not (first.isdecimal() and (last or first).isdecimal() and len(text) < 20):
        raise InputError(f"expected an entry's number or FIRST-LAST, found {clean(text)[:20]!r}")
    return range(int(first), int(last or first) + 1)


def _show(options: argparse.Namespace) -> int:
    from reports.acceptance.outage_log import OUTAGES, load_log
    from reports.acceptance.outage_weeks import signers

    from reports.acceptance.listing import say

    contract, _ = _contract(options)
    log = load_log(options.folder)
    parties = list(contract.parties)
    weeks = signers(options.folder, log, parties)
    write_json(options.json, _document(log, weeks))
    if alone(options.json):
        return 0
    for entry in log.latest.values():
        if entry.what in (*OUTAGES, "begin", "not_observed"):
            agreed = log.agreed.get(entry.number, {})
            lacking = ", ".join(party for party in parties if party not in agreed)
            say(f"{entry.number:>6} {_words(entry)}" + (f"; not agreed by {lacking}" if lacking else ""))
    for remark in log.remarks:
        say(remark)
    for week, who in weeks.items():
        say(f"week {week}: signed by {', '.join(who) or 'no party'}")
    say(f"{log.lines} lines, the last has the SHA-256 {log.last_hash}")
    return 0


def _document(log: OutageLog, weeks: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield the log as JSON in pieces, an entry a line: a million entries at once would need gigabytes."""
    head = {
        "lines": log.lines, "last_line": log.last_hash, "remarks": log.remarks,
        "weeks": {week: list(who) for week, who in weeks.items()},
    }  # fmt: skip
    yield json.dumps(head, indent=1)[: -len("\n}")] + ',\n "entries": ['
    between = "\n  "
    for entry in log.latest.values():
        yield between + json.dumps(_entry(entry, log))
        between = ",\n  "
    yield "\n ]\n}\n"


def _entry(entry: LogEntry, log: OutageLog) -> dict[str, Any]:
    return {
        "id": str(entry.number), "what": entry.what, "nodes": list(entry.nodes), "start": f"{_utc(entry.start):%FT%TZ}",
        "end": None if entry.end is None else f"{_utc(entry.end):%FT%TZ}", "by": entry.by, "source": entry.source,
        "scheduled": entry.scheduled, "cause": entry.cause, "attribution": entry.attribution,
        "exclusion": entry.exclusion, "note": entry.note, "evidence": list(entry.evidence),
        "agreed": sorted(log.agreed.get(entry.number, {})),
    }  # fmt: skip


def _words(entry: LogEntry) -> str:
    end = f"{_utc(entry.end):%F %T}" if entry.end is not None else "open"
    whose = "scheduled" if entry.scheduled else entry.exclusion or entry.attribution or "not attributed"
    nodes = ",".join(entry.nodes) or "system"
    told = f"{entry.what} {nodes} {_utc(entry.start):%F %T} to {end} UTC, {entry.cause}, {whose}"
    return one_line(f"{told} {entry.note}", 240)


def _utc(moment: int) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(moment, datetime.UTC)
