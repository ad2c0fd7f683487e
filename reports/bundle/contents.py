"""A bundle: the cases that a finding is about, their files and record, the site's files, and how to repeat it."""

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

cases/          what each measurement wrote: job script, standard output and error, the files that its figures are from
record.json     these cases as they are recorded: figures, bounds, evidence, nodes, kernel, drivers, programs' SHA-256
site/           the site's description, expectations and references
REDACTED.txt    what was taken out, and what was left out

Versions
{versions}

To repeat it, on the same nodes first
{commands}

Names of nodes are as they were; users, addresses and secrets are not.
"""


def chosen(verdict: Verdict, finding: str) -> list[CaseVerdict]:
    """The cases that ``finding`` names: a node, by its evidence; a check or a case; or the number of a failure.

    :raises InputError: there is none; says what there is.
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
        f"no finding {finding!r} in this run, {suggestion(finding, {*nodes, *checks})}; a finding is a suspect node, a"
        f" check or the number of a failure ({'; '.join(there) or 'nothing failed'})"
    )


def contents(verdict: Verdict, cases: Sequence[CaseVerdict]) -> dict[str, str]:
    """The texts of a bundle by their names in it."""
    run = pathlib.Path(verdict.session.path).parent
    # Also those who made what lies there, whoever runs this.
    hide = Anonymous({verdict.session.user, *_owners(run)})
    left_out: list[str] = []
    found: dict[str, str] = {}
    for name, path in (*_raw_files(cases, run), *_site_files(verdict)):
        try:
            text = read_text(path, MOST_BYTES)
        except UnicodeDecodeError:
            left_out.append(f"{name}: no text")
        except OSError as err:
            left_out.append(f"{name}: {err.strerror}")
        else:
            if len(found) < MOST_FILES:
                found[name] = clean(text)
            else:
                left_out.append(f"{name}: more than {MOST_FILES} files")
    found["README.txt"] = _about(verdict, cases)
    record = _record(verdict, cases)
    # All texts are read first: a name that one file tells to be a user's stands in others by itself.
    for text in (*found.values(), json.dumps(record)):
        hide.learn(text)
    found = {name: hide.text(text, name) for name, text in found.items()}
    found["record.json"] = json.dumps(hide.value(record, "record.json"), indent=1) + "\n"
    found["REDACTED.txt"] = _redacted(hide, left_out)
    return found


def _redacted(hide: Anonymous, left_out: Sequence[str]) -> str:
    lines = [f"{file}: {what}, {counted(count, 'time')}" for file, what, count in hide.taken_out()]
    return "\n".join(
        ["Taken out; the same name stands for the same thing everywhere:", *(lines or ["nothing"]), "",
         "Left out:", *(left_out or ["nothing"]), ""]
    )  # fmt: skip


def _raw_files(cases: Iterable[CaseVerdict], run: pathlib.Path) -> Iterator[tuple[str, pathlib.Path]]:
    """Files of each measurement that lie in the run's folder, also when links are followed: (name, path)."""
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
    """The cases with all that ReFrame and the checks have written of them, and the sessions that they are of."""
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
