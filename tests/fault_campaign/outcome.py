"""What the suite said in one round, from the verdict's JSON (``reports/verdict/summary.py``)."""

import dataclasses
from dataclasses import dataclass
from typing import Any

from reports.verdict.confirm import Diagnosis

NO_VERDICT = "none"
# What measuring again has shown.
_DIAGNOSES = tuple(each.value for each in Diagnosis if each is not Diagnosis.UNCONFIRMED)


@dataclass(frozen=True)
class Outcome:
    """What one round came to.

    ``checks``: every check of the suite that ran. ``failed``: those with a failed case, and what they need built.
    ``unstable``: checks that were out of bounds once and not again. ``suspects``: nodes, the most suspect first.
    ``observed``: nodes that an observation names, which a reader sees in a PASS, too.
    ``incomplete``: what the verdict misses. ``diagnoses``: what measuring again has shown, (check, diagnosis).
    ``named_after_s``: from the fault until a job named the node that it hung on.
    """

    number: int
    kind: str | None
    node: str | None
    detail: str
    verdict: str
    checks: tuple[str, ...]
    failed: tuple[str, ...]
    unstable: tuple[str, ...]
    suspects: tuple[str, ...]
    incomplete: tuple[str, ...]
    reasons: tuple[str, ...]
    seconds: float
    load_1min: float
    report: str
    diagnoses: tuple[tuple[str, str], ...]
    named_after_s: float | None = None
    observed: tuple[str, ...] = ()

    @property
    def names_a_node(self) -> bool:
        return bool(self.suspects or self.observed)

    @property
    def judged(self) -> bool:
        """The run came to a verdict: it did not crash, and was not ended at the limit of a round."""
        return self.verdict != NO_VERDICT

    @property
    def detected(self) -> bool:
        """FAIL or INCOMPLETE, which a person looks at. A run without a verdict says nothing of the cluster."""
        return self.judged and self.verdict != "PASS"

    @property
    def named_first(self) -> bool:
        return self.node is not None and self.suspects[:1] == (self.node,)

    @property
    def named_alone(self) -> bool:
        return self.node is not None and self.suspects == (self.node,)

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> "Outcome":
        """The first campaigns kept the diagnoses in the texts of the failures only.

        :raises TypeError: a key is missing or unknown.
        """
        values = {key: tuple(value) if isinstance(value, list) else value for key, value in record.items()}
        told = record.get("diagnoses")
        values["diagnoses"] = _diagnoses_told(record) if told is None else tuple(map(tuple, told))
        return cls(**values)


def _diagnoses_told(record: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """The diagnoses in the lines for operators (``reports/verdict/advice.py``), which begin with the check's name."""
    found = [(check, Diagnosis.TRANSIENT.value) for check in record.get("unstable", ())]
    for line in record.get("reasons", ()):
        check = line.split(" ", 1)[0]
        parts = line.split(" | ")
        found += [(check, each) for each in _DIAGNOSES if any(part.split(":")[0] == each for part in parts)]
    return tuple(sorted(set(found)))


def read_verdict(verdict: dict[str, Any] | None) -> dict[str, Any]:
    """The fields of an :class:`Outcome` that the verdict gives; ``None`` is a run that could not be judged."""
    if verdict is None:
        empty: tuple[str, ...] = ()
        lists = ("checks", "failed", "unstable", "suspects", "observed", "incomplete", "reasons", "diagnoses")
        return {"verdict": NO_VERDICT, **dict.fromkeys(lists, empty)}
    cases = verdict["cases"]

    def checks(wanted: Any) -> tuple[str, ...]:
        return tuple(sorted({_check(case) for case in cases if wanted(case)}))

    return {
        "verdict": verdict["verdict"],
        "checks": checks(lambda case: case["check_class"]),
        "failed": checks(lambda case: case["state"] == "fail"),
        "unstable": checks(lambda case: case["unstable"]),
        "suspects": tuple(suspect["node"] for suspect in verdict["suspects"]),
        "observed": tuple(seen["node"] for seen in verdict["observations"]),
        "incomplete": tuple(" ".join(filter(None, (gap["what"], gap["where"]))) for gap in verdict["incomplete"]),
        "reasons": tuple(case["operator_line"] for case in cases if case["operator_line"]),
        "diagnoses": tuple(sorted({(_check(case), case["diagnosis"]) for case in cases if _measured_again(case)})),
    }


def _check(case: dict[str, Any]) -> str:
    return str(case["check_class"] or case["name"])


def _measured_again(case: dict[str, Any]) -> bool:
    return case["diagnosis"] in _DIAGNOSES


def blamed_by_check(verdict: dict[str, Any]) -> dict[str, set[str]]:
    """The nodes that each failed check points at by itself."""
    blamed: dict[str, set[str]] = {}
    for case in verdict["cases"]:
        if case["state"] == "fail":
            blamed.setdefault(_check(case), set()).update(case["suspects"])
    return blamed
