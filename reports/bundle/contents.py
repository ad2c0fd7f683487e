"""Build a bundle: the cases of a finding, their files and record, the site's files, and commands to repeat them."""

import contextlib
import pathlib
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
import yaml
from msgspec import structs

from kappa.core.ground.clean_text import clean
from kappa.core.ground.documents import YamlFile
from kappa.core.ground.errors import InputError, suggestion
from kappa.core.ground.figures import counted
from kappa.core.ground.redaction import Redaction, as_json
from kappa.core.ground.whole_files import read_text
from kappa.core.record.load import Record
from kappa.core.record.model import Session
from reports.show.private_words import redaction_of
from reports.show.provenance import suite_revisions
from reports.verdict.advice import operator_line
from reports.verdict.case_verdict import CaseVerdict
from reports.verdict.judge import Verdict
from reports.verdict.state import State

MOST_BYTES, MOST_FILES = 4 * 2**20, 2000
# Redacting this much takes minutes.
MOST_BYTES_IN_ALL = 16 * MOST_BYTES
_MOST_YAML = 2**16
_SECRET_FILES = re.compile(
    r"\.?(?:netrc|pgpass|my\.cnf|env|git-credentials|npmrc|pypirc|htpasswd|vault[-_]token)"
    r"|id_(?:rsa|dsa|ecdsa|ed25519).*|krb5cc_.*|authorized_keys|known_hosts|kubeconfig|.*\.(?:pem|key|ppk|p12|pfx|jks|keytab|kdbx)|.*credentials?.*",
    re.IGNORECASE,
)
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

The names of nodes are original. The names of users, addresses and secrets are redacted. Environment variables and keys
of the site's files have their values only if these explain performance.
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
        return [case for case in verdict.cases if case.title in titles]
    named = [case for case in verdict.cases if finding in (case.title, case.case.name, case.case.check_class)]
    if named:
        return [case for case in named if case.state is State.FAIL] or named
    raise InputError(_nothing(verdict, failed, finding))


def _nothing(verdict: Verdict, failed: Sequence[CaseVerdict], finding: str) -> str:
    nodes = [suspect.node for suspect in verdict.suspects]
    checks = {str(case.case.check_class or case.case.name) for case in verdict.cases}
    there = [f"{number}: {case.title}" for number, case in enumerate(failed[:20], start=1)]
    there += [f"suspects {', '.join(nodes)}"] if nodes else []
    return (
        f"no finding {finding!r} in this run, {suggestion(finding, {*nodes, *checks})}; give a suspect node, a"
        f" check or the number of a failure ({'; '.join(there) or 'nothing failed'})"
    )


def contents(verdict: Verdict, cases: Sequence[CaseVerdict]) -> dict[str, str]:
    """Return the texts of a bundle by their file names."""
    run = pathlib.Path(verdict.session.path).parent
    hide = redaction_of(verdict)
    left_out: dict[str, str] = {}
    size = 0
    # The record comes first: its hashes of programs stay readable in other files.
    own = {"record.json": as_json(_record(verdict, cases)) + "\n", "README.txt": _about(verdict, cases)}
    found = {name: hide.secrets(text, name) for name, text in own.items()}
    for name, path in (*_raw_files(cases, run), *_site_files(verdict)):
        if _SECRET_FILES.fullmatch(path.name) or ".ssh" in path.parts:
            left_out[name] = "a file for secrets"
        elif len(found) >= MOST_FILES + 2:
            left_out[name] = f"more than {MOST_FILES} files"
        else:
            try:
                size += path.stat().st_size
                if size > MOST_BYTES_IN_ALL:
                    left_out[name] = f"more than {MOST_BYTES_IN_ALL:,} bytes in all"
                    continue
                found[name] = _text(name, path, hide)
            except UnicodeDecodeError:
                left_out[name] = "not a text file"
            except OSError as err:
                left_out[name] = str(err.strerror)
            except (InputError, RecursionError):
                left_out[name] = "not valid YAML"
    # Read all texts before: one file shows that a name is a user's, and other files contain only the name.
    texts = {name: hide.names(text, name) for name, text in found.items()}
    places: dict[str, str] = {}
    for name in texts:
        # Two names may differ only in what was redacted.
        place = _shown_path(name, hide)
        places[name] = place if place not in places.values() else f"{place}~{len(places)}"
    shown = {places[name]: text for name, text in texts.items()}
    shown["REDACTED.txt"] = _redacted(
        hide, places, [f"{_shown_path(name, hide)}: {reason}" for name, reason in left_out.items()]
    )
    return shown


def _text(name: str, path: pathlib.Path, hide: Redaction) -> str:
    """Return the file at ``path`` without secrets.

    :raises InputError: a file of the site is no valid YAML.
    """
    if name.startswith("site/"):
        return _as_yaml(name, hide.site_value(YamlFile(path).value), hide)
    text = clean(read_text(path, MOST_BYTES))
    if path.suffix in (".yaml", ".yml") and len(text) <= _MOST_YAML:
        with contextlib.suppress(InputError):
            return _as_yaml(name, hide.value(YamlFile(path).value), hide)
    return hide.secrets(text, name)


def _as_yaml(name: str, value: object, hide: Redaction) -> str:
    text = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=120)
    hide.note(name, "comments left out")
    return str(text)


def _shown_path(path: str, hide: Redaction) -> str:
    return "/".join(hide.text(part, "names of files") for part in path.split("/"))


def _redacted(hide: Redaction, places: Mapping[str, str], left_out: Sequence[str]) -> str:
    taken_out = hide.taken_out()
    lines = [f"{places.get(file, file)}: {what}, {counted(count, 'time')}" for file, what, count in taken_out]
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
            check = re.sub(r"\W", "_", str(attempt.case.check_class))
            if folder != run.resolve() and folder.is_relative_to(run.resolve()):
                places.setdefault(folder, f"cases/{number}-{check}/{measurement}-{purpose}")
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
    """Return the part of the run's record about these cases, with all of their attempts."""
    chosen = {attempt.case.selected for case in cases for attempt in case.measurements}

    def part(session: Session) -> Session:
        runs = tuple(tuple(case for case in run if case.selected in chosen) for run in session.runs)
        again = tuple(other for other in map(part, session.again) if any(other.runs))
        return structs.replace(session, runs=runs, again=again)

    document: dict[str, object] = msgspec.to_builtins(Record(made_from={}, session=part(verdict.session)))
    return document


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
