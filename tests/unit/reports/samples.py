"""Recorded reports (see tests/data/reports/recorder), and helpers that change them."""

import copy
import functools
import json
import pathlib
import shutil
from collections.abc import Sequence
from typing import Any

from kappa.core.record.load import load_session
from kappa.core.record.model import Session
from kappa.core.sites.expected import Expected, LeftOut
from kappa.core.sites.load import Site
from reports.verdict.judge import Verdict, judge

DATA = pathlib.Path(__file__).parents[2] / "data/reports"
REPOSITORY = pathlib.Path(__file__).parents[3]

Document = dict[str, Any]

EXPECTED = {"node/partition-state": ("cpu",), "network/osu-pt2pt": ("cpu",)}
NOT_PROVIDED = {"nvidia": "no GPU in this machine", "osu-cuda": "no MPI here moves GPU memory"}
Modes = dict[str, dict[str, tuple[str, ...]]]


class ToldSite(Site):
    """A site without files: the caller gives what it has to run and its exceptions."""

    files = ["site.yaml", "expected.yaml", "references/network.yaml"]

    def __init__(
        self,
        modes: Modes | None = None,
        not_provided: dict[str, str] = NOT_PROVIDED,
        left_out: Sequence[LeftOut] = (),
    ) -> None:
        super().__init__(pathlib.Path("site_configs/embedded"))
        self.description = None
        self.modes = {"nightly": EXPECTED} if modes is None else modes
        self.expected = Expected(not_provided=not_provided, left_out=[*left_out])


SITE = ToldSite()


def recorded(name: str) -> Document:
    """A fresh copy of a recorded report."""
    return json.loads(_text(name))


@functools.cache
def _text(name: str) -> str:
    return (DATA / f"{name}.json").read_text(encoding="utf-8")


def cases_of(document: Document) -> list[Document]:
    return [case for run in document["runs"] for case in run["testcases"]]


def case(name: str, partition: str = "cpu", source: str = "campaign", /, **changes: Any) -> Document:
    """A copy of the recorded case whose name starts with ``name``, with ``changes``."""
    found = next(
        entry
        for entry in cases_of(recorded(source))
        if entry["name"].startswith(name) and entry["partition"] == partition
    )
    return {**copy.deepcopy(found), **changes}


def latency(partition: str = "cpu", value: float | None = 9.0, **changes: Any) -> Document:
    """A case that measured one latency of ``value`` us; at most 500 us are allowed. It fails when that is exceeded."""
    failed = value is not None and not value <= 500
    entry = case("OsuLatency %placement=two_nodes", partition)
    entry |= {
        "result": "fail" if failed else "pass",
        "perfvalues": {f"embedded:{partition}:latency_8B": [value, 500, None, 0, "us", "fail" if failed else "pass"]},
        "declared_metrics": ["latency_8B"],
    }
    return {**entry, **changes}


def finding(name: str = "node2", **changes: Any) -> Document:
    """Return a check's evidence about a node, with ``changes``."""
    return {
        "kind": "node",
        "name": name,
        "nodes": [name],
        "quantity": "bandwidth",
        "score": 50.0,
        "slowdown": 3.0,
        "evidence": "slower to all",
        **changes,
    }


def report(*runs: list[Document], **info: Any) -> Document:
    """A report of ``runs``, each a list of cases, in mode ``nightly``."""
    document = recorded("campaign")
    document["session_info"] |= info
    document["runs"] = [{"run_index": number, "testcases": cases} for number, cases in enumerate(runs)]
    return document


def complete(*more: Document) -> Document:
    """A report that passes on ``SITE``, and ``more`` cases."""
    return report([case("PartitionState"), latency(), *more])


def with_metric(value: Any, reference: Any = 500, lower: Any = None, upper: Any = 0, result: str = "pass") -> Document:
    """A report whose second case has one metric with this entry; ReFrame's ``result`` of case and metric is a pass."""
    entry = latency(result="pass" if result == "pass" else "fail")
    entry["perfvalues"] = {"embedded:cpu:latency_8B": [value, reference, lower, upper, "us", result]}
    return report([case("PartitionState"), entry])


def loaded(document: Document, folder: pathlib.Path) -> Session:
    path = folder / "run-report.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return load_session(path)


def judged(document: Document, folder: pathlib.Path, site: Site | None = SITE, mode: str | None = None) -> Verdict:
    return judge(loaded(document, folder), site, mode)


def judged_again(
    folder: pathlib.Path, runs: Sequence[Sequence[Document]], *again: Any, confirms: str = "u1"
) -> Verdict:
    """The verdict on runs and what was measured again: purpose, the nodes that were asked for, and the case of each."""
    documents = {"run-report": report([case("PartitionState"), *runs[0]], *map(list, runs[1:]), uuid="u1")}
    for number, (purpose, asked, entry) in enumerate(again):
        documents[f"confirmations/{number}"] = report(
            [entry], uuid=f"u1-{number}", confirms=confirms, purpose=purpose, nodes=asked
        )
    shutil.rmtree(folder / "confirmations", ignore_errors=True)
    (folder / "confirmations").mkdir()
    for name, document in documents.items():
        (folder / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    return judge(load_session(folder), SITE)
