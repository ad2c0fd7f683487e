"""Build a bundle: the cases of a finding, their files and record, the site's files, and commands to repeat them."""

import json
import pathlib
import shlex
from collections.abc import Iterable, Iterator, Sequence

from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError, suggestion
from kappa.core.ground.figures import counted
from kappa.core.ground.redaction import Anonymous
from kappa.core.ground.whole_files import read_text
from kappa.core.record.load import cases_of, parse_report, read
from reports.show.provenance import suite_revisions
from reports.verdict.advice import operator_line
from reports.verdict.case_verdict import CaseVerdict
from reports.verdict.judge import Verdict
from reports.verdict.state import State

MOST_BYTES, MOST_FILES = 4 * 2**20, 2000
_SITE_FILES = ("site.yaml", "expected.yaml", "references/*.y*ml")
_FACTS = {"kernel": "kernel", "cpu_model": "processor", "mpi": "MPI"}
_ABOUT = """\
{title}

{lines}

cases/          files of each measurement: job script, standard output and error, the sources of its values
record.json     the record of these cases: values, bounds, evidence, nodes, kernel, drivers, programs' SHA-256
site/           the site's description, expectations and references
REDACTED.txt    redacted texts, and files that were left out

Versions
{versions}

Commands to repeat the cases on the same nodes
{commands}

The names of nodes are original. The names of users, addresses and secrets are redacted.
"""


def chosen(verdict: Verdict, finding: str) -> list[CaseVerdict]:
    """Return the cases that ``finding`` names: a suspect node, a check, a case or the number of a failure.

    :raises InputError: there is no such finding; the message lists the findings.
    """
    failed = verdict.cases_in(State.FAIL)
    if finding.isdecimal() and 1 <= int(finding) <= len(failed):
        return [failed[int(finding) - 1]]
    suspect = next((one for one in verdict.suspects if one.node == finding), None)
    if suspect:
        titles = {title for title, _ in suspect.evidence}
        return [case for case in verdict.cases if case.case.title in titles]
    named = [case for case in verdict.cases if finding in (case.case.title, case.case.name, case.case.check_class)]
    if named:
        return [case for case in named if case.state is State.FAIL] or named
    raise InputError(_nothing(verdict, failed, finding))


def _nothing(verdict: Verdict, failed: Sequence[CaseVerdict], finding: str) -> str:
    nodes = [suspect.node for suspect in verdict.suspects]
    checks = {str(case.case.check_class or case.case.name) for case in verdict.cases}
    there = [f"{number}: {case.case.title}" for number, case in enumerate(failed[:20], start=1)]
    there += [f"suspects {', '.join(nodes)}"] if nodes else []
    return (
        f"no finding {finding!r} in this run, {suggestion(finding, {*nodes, *checks})}; give a suspect node, a"
        f" check or the number of a failure ({'; '.join(there) or 'nothing failed'})"
    )


def contents(verdict: Verdict, cases: Sequence[CaseVerdict]) -> dict[str, str]:
    """Return the texts of a bundle by their file names."""
    run = pathlib.Path(verdict.session.path).parent
    # Hide the owner of the files, too, who may be another user.
    hide = Anonymous({verdict.session.user, *_owners(run)})
    left_out: list[str] = []
    found: dict[str, str] = {}
    for name, path in (*_raw_files(cases, run), *_site_files(verdict)):
        try:
            text = read_text(path, MOST_BYTES)
        except UnicodeDecodeError:
            left_out.append(f"{name}: not a text file")
        except OSError as err:
            left_out.append(f"{name}: {err.strerror}")
        else:
            if len(found) < MOST_FILES:
                found[name] = clean(text)
            else:
                left_out.append(f"{name}: more than {MOST_FILES} files")
    found["README.txt"] = _about(verdict, cases)
    record = _record(verdict, cases)
    # Read all texts first: one file shows that a name is a user's, and other files contain only the name.
    for text in (*found.values(), json.dumps(record)):
        hide.learn(text)
    found = {name: hide.text(text, name) for name, text in found.items()}
    found["record.json"] = json.dumps(hide.value(record, "record.json"), indent=1) + "\n"
    found["REDACTED.txt"] = _redacted(hide, left_out)
    return found


def _redacted(hide: Anonymous, left_out: Sequence[str]) -> str:
    lines = [f"{file}: {what}, {counted(count, 'time')}" for file, what, count in hide.taken_out()]
    return "\n".join(
        ["Redacted (equal replacements stand for equal originals):", *(lines or ["nothing"]), "",
         "Left out:", *(left_out or ["nothing"]), ""]
    )  # fmt: skip


def _raw_files(cases: Iterable[CaseVerdict], run: pathlib.Path) -> Iterator[tuple[str, pathlib.Path]]:
    """Yield (name, path) of each measurement's files that lie in the run's folder after links are resolved."""
    places: dict[pathlib.Path, str] = {}
    for number, case in enumerate(cases, start=1):
        for measurement, attempt in enumerate(case.measurements, start=1):
            folder = pathlib.Path(attempt.case.folder or "/").resolve()
            purpose = attempt.case.purpose or "first"
            if folder != run.resolve() and folder.is_relative_to(run.resolve()):
                places.setdefault(folder, f"cases/{number}-{attempt.case.check_class}/{measurement}-{purpose}")
    for folder, name in places.items():
        inside = [other for other in places if other != folder and other.is_relative_to(folder)]
        for path in sorted(folder.rglob("*")):
            real = path.resolve()
            if real.is_file() and real.is_relative_to(folder) and not any(real.is_relative_to(one) for one in inside):
                yield f"{name}/{path.relative_to(folder)}", real


def _site_files(verdict: Verdict) -> Iterator[tuple[str, pathlib.Path]]:
    if not verdict.site:
        return
    folder = pathlib.Path(verdict.site.path)
    for pattern in _SITE_FILES:
        yield from ((f"site/{path.relative_to(folder)}", path) for path in sorted(folder.glob(pattern)))


def _record(verdict: Verdict, cases: Sequence[CaseVerdict]) -> dict[str, object]:
    """Return the full records of the cases by ReFrame and the checks, with their sessions."""
    attempts = [attempt.case for case in cases for attempt in case.measurements]
    told = {(case.name, case.system, case.partition, case.environ) for case in attempts}
    found: dict[str, object] = {}
    for session in (verdict.session, *verdict.session.again):
        document = parse_report(read(pathlib.Path(session.path), session.path), session.path)
        kept = [
            case
            for case in cases_of(document)
            if tuple(case.get(key) for key in ("name", "system", "partition", "environ")) in told
        ]
        if kept:
            found[pathlib.Path(session.path).name] = {"session_info": document.get("session_info"), "cases": kept}
    return found


def _about(verdict: Verdict, cases: Sequence[CaseVerdict]) -> str:
    session = verdict.session
    site = verdict.site.name if verdict.site else "unknown site"
    versions = [("ReFrame", session.reframe_version or "unknown")]
    versions += [("Kappa", revision) for revision in suite_revisions(verdict.cases)]
    for fact, name in _FACTS.items():
        told = {str(getattr(case.case.provenance, fact)) for case in cases}
        versions += [(name, one) for one in sorted(told - {""})]
    return _ABOUT.format(
        title=f"{verdict.state.word.upper()} of {site}, mode {verdict.mode or 'unknown'}, {session.time_start}",
        lines="\n".join(str(operator_line(case)) for case in cases),
        versions="\n".join(f"  {name}: {one}" for name, one in versions),
        commands="\n".join(f"  {command}" for command in dict.fromkeys(map(_command, cases))),
    )


def _command(case: CaseVerdict) -> str:
    one = case.case
    words = ["kappa", "validate", one.system, "full", "-n", f"/{one.hashcode or one.recorded_hash}",
             f"--system={one.system}:{one.partition}"]  # fmt: skip
    if one.nodes and not one.local:
        words += ["-J", f"nodelist={','.join(one.nodes)}"]
    return shlex.join(words)


def _owners(run: pathlib.Path) -> set[str]:
    try:
        return {run.owner()}
    except (KeyError, OSError):
        return set()
