"""What a campaign has done so far, in a folder of its own, so that it can go on after an interruption."""

import contextlib
import dataclasses
import json
import pathlib
from collections.abc import Sequence
from dataclasses import dataclass

from kappa.core.ground.errors import InputError
from kappa.core.ground.locks import locked
from kappa.core.ground.whole_files import write_atomically
from tests.fault_campaign.cluster import CampaignError
from tests.fault_campaign.outcome import Outcome, blamed_by_check

# Beside the report of a round.
VERDICT = "verdict.json"
# More than a campaign has rounds.
NUMBERS = 10_000_000


@dataclass(frozen=True)
class Settings:
    """What makes the plan and the load beside it, and so has to stay the same when a campaign goes on."""

    seed: int
    kinds: tuple[str, ...]
    beside: tuple[str, ...] = ()


class State:
    """The folder ``path``: ``campaign.json``, ``rounds.jsonl``, and places for the cluster and the results."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path.resolve()
        self.results.mkdir(parents=True, exist_ok=True)

    @property
    def cluster(self) -> pathlib.Path:
        return self.path / "cluster"

    @property
    def results(self) -> pathlib.Path:
        return self.path / "results"

    def lock(self) -> None:
        """:raises CampaignError: another campaign uses the folder."""
        held = contextlib.ExitStack()
        try:
            held.enter_context(locked(self.path / "lock"))
        except InputError as err:
            raise CampaignError(f"another campaign runs in {self.path}, or: {err}") from err
        self._held = held.pop_all()  # until the process ends

    def begin(self, settings: Settings) -> None:
        """Record the settings, or make sure that they are those recorded.

        :raises CampaignError: they differ.
        """
        path = self.path / "campaign.json"
        if not path.exists():
            write_atomically(path, json.dumps(dataclasses.asdict(settings)) + "\n")
        elif self.settings() != settings:
            raise CampaignError(f"{path} is of another campaign ({self.settings()}): choose another --state folder")

    def settings(self) -> Settings:
        """:raises CampaignError: there is no campaign in the folder, or its record is damaged."""
        path = self.path / "campaign.json"
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            return Settings(int(record["seed"]), tuple(record["kinds"]), tuple(record.get("beside", ())))
        except (OSError, ValueError, KeyError, TypeError) as err:
            raise CampaignError(f"{path} does not tell of a campaign: {err}") from err

    def outcomes(self) -> list[Outcome]:
        """:raises CampaignError: a line is damaged; names it."""
        path = self.path / "rounds.jsonl"
        found = []
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines() if path.exists() else (), start=1):
            try:
                found.append(Outcome.from_json(json.loads(line)))
            except (ValueError, TypeError) as err:
                raise CampaignError(f"{path}, line {number}: expected the outcome of a round: {err}") from err
        return found

    def blamed(self) -> dict[int, dict[str, set[str]]]:
        """By round, the nodes that each failed check points at by itself; without rounds whose verdict is gone.

        :raises CampaignError: a verdict is damaged; names it.
        """
        found = {}
        for outcome in self.outcomes():
            path = (self.results / outcome.report).with_name(VERDICT)
            if not outcome.report or not path.exists():
                continue
            try:
                found[outcome.number] = blamed_by_check(json.loads(path.read_text(encoding="utf-8")))
            except (ValueError, KeyError, TypeError) as err:
                raise CampaignError(f"{path}: expected a verdict: {err!r}") from err
        return found

    def add(self, outcome: Outcome) -> None:
        lines = [json.dumps(each.to_json(), ensure_ascii=False) for each in (*self.outcomes(), outcome)]
        write_atomically(self.path / "rounds.jsonl", "\n".join(lines) + "\n")


def together(states: Sequence[State]) -> tuple[list[Outcome], dict[int, dict[str, set[str]]]]:
    """The rounds of several campaigns, and whom their checks blame; numbers are apart by ``NUMBERS``.

    :raises CampaignError: as of one.
    """
    outcomes: list[Outcome] = []
    blamed: dict[int, dict[str, set[str]]] = {}
    for place, state in enumerate(states):
        first = place * NUMBERS
        outcomes += [dataclasses.replace(outcome, number=first + outcome.number) for outcome in state.outcomes()]
        blamed |= {first + number: by_check for number, by_check in state.blamed().items()}
    return outcomes, blamed
