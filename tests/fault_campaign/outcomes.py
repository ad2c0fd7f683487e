"""Read the outcomes of rounds from a verdict's JSON (``reports/verdict/summary.py``), and keep them in a folder."""

import dataclasses
import pathlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from kappa.core.ground.whole_files import write_atomically
from reports.verdict.confirm import Diagnosis
from tests.fault_campaign.cluster import CampaignError

NO_VERDICT = "none"
# More than the number of rounds of a campaign.
NUMBERS = 10_000_000
# The results of a re-measurement.
_DIAGNOSES = tuple(each.value for each in Diagnosis if each is not Diagnosis.UNCONFIRMED)


@dataclass(frozen=True)
class Outcome:
    """The outcome of one round.

    ``checks``: every check of the suite that ran. ``failed``: checks with a failed case, and failed builds.
    ``unstable``: checks that were out of bounds only at first. ``suspects``: nodes, the most suspect first.
    ``observed``: nodes that an observation names, even in a PASS. ``incomplete``: the reasons why the verdict is
    incomplete. ``diagnoses``: the results of re-measurements, (check, diagnosis). ``blamed``: for each failed check,
    the nodes that its own measurement names. ``named_after_s``: seconds from the fault until a job named the node that
    it hung on.
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
    seconds: float
    load_1min: float
    report: str
    diagnoses: tuple[tuple[str, str], ...]
    blamed: dict[str, list[str]]
    named_after_s: float | None
    observed: tuple[str, ...]

    @property
    def names_a_node(self) -> bool:
        return bool(self.suspects or self.observed)

    @property
    def judged(self) -> bool:
        """Return whether the run has a verdict: it did not crash, and did not reach the time limit of a round."""
        return self.verdict != NO_VERDICT

    @property
    def detected(self) -> bool:
        """Return whether the verdict is FAIL or INCOMPLETE. A run without a verdict says nothing about the cluster."""
        return self.judged and self.verdict != "PASS"

    @property
    def named_first(self) -> bool:
        return self.node is not None and self.suspects[:1] == (self.node,)

    @property
    def named_alone(self) -> bool:
        return self.node is not None and self.suspects == (self.node,)


def read_verdict(verdict: dict[str, Any] | None) -> dict[str, Any]:
    """Return the fields of an :class:`Outcome` from the verdict; ``None`` stands for a run that cannot be judged."""
    if verdict is None:
        empty: tuple[str, ...] = ()
        lists = ("checks", "failed", "unstable", "suspects", "observed", "incomplete", "diagnoses")
        return {"verdict": NO_VERDICT, **dict.fromkeys(lists, empty), "blamed": {}}
    cases = verdict["cases"]
    diagnoses = {(_check(case), case["diagnosis"]) for case in cases if case["diagnosis"] in _DIAGNOSES}

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
        "diagnoses": tuple(sorted(diagnoses)),
        "blamed": _blamed(cases),
    }


def _check(case: dict[str, Any]) -> str:
    return str(case["check_class"] or case["name"])


def _blamed(cases: Iterable[dict[str, Any]]) -> dict[str, list[str]]:
    """Return the nodes that each failed check names from its own measurement."""
    blamed: dict[str, set[str]] = {}
    for case in cases:
        if case["state"] == "fail":
            blamed.setdefault(_check(case), set()).update(case["suspects"])
    return {check: sorted(nodes) for check, nodes in sorted(blamed.items())}


@dataclass(frozen=True)
class Settings:
    """The settings of the plan and the load. They must stay the same when a campaign continues."""

    seed: int
    kinds: tuple[str, ...]
    beside: tuple[str, ...] = ()
    plant: str = ""
    """The operator's own fault, as a shell command; ``mend`` ends it."""

    mend: str = ""


class CampaignFolder:
    """The folder of a campaign: ``campaign.json``, ``rounds.jsonl``, and folders for the cluster and the results."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path.resolve()
        self.results.mkdir(parents=True, exist_ok=True)

    @property
    def cluster(self) -> pathlib.Path:
        return self.path / "cluster"

    @property
    def results(self) -> pathlib.Path:
        return self.path / "results"

    def begin(self, settings: Settings) -> None:
        """Record the settings, or compare them with the recorded ones.

        :raises CampaignError: they differ.
        """
        path = self.path / "campaign.json"
        if not path.exists():
            write_atomically(path, msgspec.json.encode(settings).decode())
        elif self.settings() != settings:
            raise CampaignError(f"{path}: the folder has another campaign ({self.settings()}): choose another --state")

    def settings(self) -> Settings:
        """Return the recorded settings.

        :raises CampaignError: there is no campaign in the folder, or its record is damaged.
        """
        path = self.path / "campaign.json"
        try:
            return msgspec.json.decode(path.read_bytes(), type=Settings)
        except (OSError, msgspec.MsgspecError) as err:
            raise CampaignError(f"{path}: expected the settings of a campaign: {err}") from err

    def outcomes(self) -> list[Outcome]:
        """Return the recorded outcomes.

        :raises CampaignError: a line is damaged. The message has its number.
        """
        path = self.path / "rounds.jsonl"
        found = []
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines() if path.exists() else (), start=1):
            try:
                found.append(msgspec.json.decode(line, type=Outcome))
            except msgspec.MsgspecError as err:
                raise CampaignError(f"{path}, line {number}: expected the outcome of a round: {err}") from err
        return found

    def add(self, outcome: Outcome) -> None:
        lines = [msgspec.json.encode(each).decode() for each in (*self.outcomes(), outcome)]
        write_atomically(self.path / "rounds.jsonl", "\n".join(lines) + "\n")


def together(states: Sequence[CampaignFolder]) -> list[Outcome]:
    """Return the rounds of several campaigns. Numbers differ by ``NUMBERS``.

    :raises CampaignError: as for one campaign.
    """
    return [
        dataclasses.replace(outcome, number=place * NUMBERS + outcome.number)
        for place, state in enumerate(states)
        for outcome in state.outcomes()
    ]
