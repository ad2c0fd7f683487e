"""What the suite said in one round, from the verdict's JSON (``reports/verdict_json.py``)."""

import dataclasses
from dataclasses import dataclass
from typing import Any

NO_VERDICT = "none"


@dataclass(frozen=True)
class Outcome:
    """What one round came to.

    ``checks``: every check of the suite that ran. ``failed``: those with a failed case, and what they need built.
    ``unstable``: checks that were out of bounds once and not again. ``suspects``: nodes, the most suspect first.
    ``incomplete``: what the verdict misses.
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

    @property
    def detected(self) -> bool:
        """FAIL or INCOMPLETE: whatever is not PASS is looked at by a person."""
        return self.verdict != "PASS"

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
        """:raises TypeError: a key is missing or unknown."""
        return cls(**{key: tuple(value) if isinstance(value, list) else value for key, value in record.items()})


def read_verdict(verdict: dict[str, Any] | None) -> dict[str, Any]:
    """The fields of an :class:`Outcome` that the verdict gives; ``None`` is a run that could not be judged."""
    if verdict is None:
        empty: tuple[str, ...] = ()
        lists = ("checks", "failed", "unstable", "suspects", "incomplete", "reasons")
        return {"verdict": NO_VERDICT, **dict.fromkeys(lists, empty)}
    cases = verdict["cases"]

    def checks(wanted: Any) -> tuple[str, ...]:
        return tuple(sorted({case["check_class"] or case["name"] for case in cases if wanted(case)}))

    return {
        "verdict": verdict["verdict"],
        "checks": checks(lambda case: case["check_class"]),
        "failed": checks(lambda case: case["state"] == "fail"),
        "unstable": checks(lambda case: case["unstable"]),
        "suspects": tuple(suspect["node"] for suspect in verdict["suspects"]),
        "incomplete": tuple(" ".join(filter(None, (gap["what"], gap["where"]))) for gap in verdict["incomplete"]),
        "reasons": tuple(case["operator_line"] for case in cases if case["operator_line"]),
    }


def blamed_by_check(verdict: dict[str, Any]) -> dict[str, set[str]]:
    """The nodes that each failed check points at by itself."""
    blamed: dict[str, set[str]] = {}
    for case in verdict["cases"]:
        if case["state"] == "fail":
            blamed.setdefault(case["check_class"] or case["name"], set()).update(case["suspects"])
    return blamed
