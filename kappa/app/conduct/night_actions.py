"""What a night does to nodes, where the site has a rule for it: gives back what is due, and drains what it found."""

import contextlib
import pathlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from kappa.app.conduct.options_kept import OptionsKept
from kappa.app.conduct.quarantine import Quarantine
from kappa.app.conduct.return_test import end_quarantines
from kappa.app.conduct.session import Conductor
from kappa.app.conduct.validation import using
from kappa.core.ground.errors import InputError
from kappa.core.ground.processes import StoppedError
from kappa.core.record.actions import Action, load_actions
from kappa.core.sites.expected import load_site
from reports.nightly.night_record import load_record
from reports.nightly.summarise import judge_night
from reports.quarantine.listing import told
from reports.quarantine.named import named_nodes


class NightActions:
    """Those of the night that ``began`` then, in seconds since 1970."""

    def __init__(self, folder: pathlib.Path, results: pathlib.Path, began: float) -> None:
        self.folder, self.results, self.began = folder, results, began
        self._only_told: list[Action] = []
        self._problem = ""

    def give_back(self, conductor: Conductor, options: Sequence[str]) -> None:
        """Do what the rule says with the nodes whose quarantine has ended; of ReFrame's ``options``, which select the
        night's checks, only those hold that set something."""
        stop = conductor.stop
        with self._problems_noted():
            quarantine = Quarantine.of(self.folder, self.results)
            if quarantine is None:
                return
            with using(self.results, waiting=stop.check) as own, quarantine.alone(stop.check) as lock:
                holding = replace(conductor, locks=[*conductor.locks, own, lock])
                for action, _ in end_quarantines(quarantine, holding, OptionsKept.of(options).options):
                    conductor.say(told(action))
                    self._only_told += [action] if action.what == "release" and action.outcome == "declined" else []

    def drain(self, conductor: Conductor, night: pathlib.Path) -> None:
        """Do what the rule says with the nodes that the confirmed findings of the night in this folder name."""
        with self._problems_noted():
            quarantine = Quarantine.of(self.folder, self.results)
            if quarantine is None:
                return
            cases = judge_night(night, load_record(night), load_site(self.folder)).cases
            named = named_nodes(cases, quarantine.rule.evidence)
            with quarantine.alone(conductor.stop.check):
                for action in quarantine.drain(quarantine.decided(named, self.began, str(night))):
                    conductor.say(told(action))

    def as_record(self) -> dict[str, Any]:
        """For ``night.json``: all actions since the night began, and what kept it from others."""
        actions: list[Action] = []
        with contextlib.suppress(InputError), self._problems_noted():
            actions = [action for action in load_actions(self.results / "history") if action.time >= self.began]
        return {"actions": msgspec.to_builtins([*self._only_told, *actions]), "not_acted": self._problem}

    @contextlib.contextmanager
    def _problems_noted(self) -> Iterator[None]:
        try:
            yield
        except (InputError, StoppedError) as err:
            self._problem = str(err)
            raise
