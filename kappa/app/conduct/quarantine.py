"""Nodes taken out of service and given back by a site's rule; each action is recorded before its command runs."""

import contextlib
import pathlib
import time
from collections.abc import Callable, Iterator, Mapping

from msgspec.structs import replace

from kappa.app.conduct.node_commands import CommandError, NodeCommands
from kappa.core.ground.errors import InputError
from kappa.core.ground.locks import locked
from kappa.core.record.actions import FOLDER, Action, Evidence, keep_action, load_actions
from kappa.core.sites.expected import load_site
from kappa.core.sites.site_file import SiteDescription
from kappa.core.vocabulary.quarantine import Quarantine as Rule
from reports.quarantine.decide import decide, end_of, reason_of
from reports.quarantine.standing import NodeNow, held_nodes, interrupted_tests

Named = Mapping[str, tuple[Evidence, ...]]


class Quarantine:
    """A site's rule, its commands, and what was recorded of them below ``results``."""

    def __init__(self, site: SiteDescription, rule: Rule, results: pathlib.Path) -> None:
        self.site, self.rule, self.commands = site, rule, NodeCommands(site)
        self.results, self.history = results, results / "history"

    @classmethod
    def of(cls, folder: pathlib.Path, results: pathlib.Path) -> "Quarantine | None":
        """That of the site in ``folder``; ``None`` when it has no rule, and nothing is done to nodes.

        :raises InputError: the site cannot be used.
        """
        site = load_site(folder).description
        rule = site.described.quarantine if site else None
        return cls(site, rule, results) if site and rule else None

    @classmethod
    def required(cls, folder: pathlib.Path, results: pathlib.Path) -> "Quarantine":
        """:raises InputError: the site has no rule, or cannot be used."""
        found = cls.of(folder, results)
        if found is None:
            raise InputError(f"{folder}/site.yaml has no quarantine, so nothing is done to nodes: docs/quarantine.md")
        return found

    @contextlib.contextmanager
    def alone(self, waiting: Callable[[], object]) -> Iterator[int]:
        """Hold the nodes against other commands of this site, and clear up after one that was killed; yields the lock.

        :param waiting: see ``locked``.

        :raises InputError: what was left cannot be cleared up, and has to be by hand.
        """
        with locked(self.history / FOLDER / ".lock", waiting=waiting) as lock:
            for test in interrupted_tests(load_actions(self.history)):
                self._clear_up(test)
            yield lock

    def held(self) -> dict[str, Action]:
        """The nodes in quarantine, each with the action that put it there.

        :raises InputError: Slurm does not answer, or a record is damaged.
        """
        return held_nodes(self.commands.nodes(), load_actions(self.history))

    def decided(self, named: Named, measured: float, report: str) -> list[Action]:
        """What is to be done with the nodes that findings name; errors as of ``held``."""
        actions, cluster = load_actions(self.history), self.commands.nodes()
        decisions = decide(named, self.rule, cluster, actions, measured=measured, now=time.time(), report=report)
        return [replace(one, command=self._drain_command(one)) if one.quarantines else one for one in decisions]

    def drain(self, decisions: list[Action]) -> list[Action]:
        """Do it, and record it, also what is declined; returns what came of it."""
        return [self._drained(one) if one.quarantines else self.keep(one) for one in decisions]

    def keep(self, action: Action) -> Action:
        keep_action(self.history, action)
        return action

    def attempt(self, action: Action, run: Callable[[], object]) -> Action:
        """Record ``action``, run it, and record how it ended."""
        self.keep(action)
        try:
            run()
        except CommandError as err:
            return self.keep(replace(action, outcome="failed", said=str(err)))
        return self.keep(replace(action, outcome="done"))

    def shut(self, test: Action, *, passed: bool, why: str, evidence: tuple[Evidence, ...] = ()) -> str:
        """End a node's test: drain it again unless it passed, and only then let others' jobs come to it again.

        Returns what could not be done, empty when all was.
        """
        try:
            now = self.commands.nodes().get(test.node)
            if now and not passed and not now.drained and (again := self._kept(test, why, evidence)).outcome != "done":
                return f"it is not drained again, so its reservation stays and keeps others' jobs from it: {again.said}"
            self.commands.run(self.commands.filled(self.rule.unreserve, test.node))
        except CommandError as err:
            return f"its reservation stays: {err}"
        return ""

    def _clear_up(self, test: Action) -> None:
        """After a test whose conductor was killed: the node is as it left it, or as somebody has put it since."""
        said, now = "the test was killed", self.commands.nodes().get(test.node)
        if now and not now.drained and not now.reserved:
            said += ", and the reservation was ended since"
        elif problem := self.shut(test, passed=False, why="its test was killed"):
            now = self.commands.nodes().get(test.node)
            if now and not now.drained:
                raise CommandError(f"{said}, and {test.node} needs a hand: {problem}")
            said += f"; {problem}"
        self.keep(replace(test, outcome="failed", said=said))

    def _kept(self, test: Action, why: str, evidence: tuple[Evidence, ...]) -> Action:
        # What named it is measured again by its next test, too.
        every = {(one.check, one.case, one.partition): one for one in (*test.evidence, *evidence)}
        now = time.time()
        again = Action(what="keep", node=test.node, time=now, outcome="begun", said=why, until=end_of(self.rule, now),
                       evidence=tuple(every.values()), report=test.report)  # fmt: skip
        return self._drained(replace(again, command=self._drain_command(again)))

    def _drained(self, action: Action) -> Action:
        now = self.commands.nodes().get(action.node)
        if now is None or now.others_matter:
            # Somebody was faster.
            return self.keep(replace(action, outcome="declined", said=f"{now or 'Slurm does not list it'}", command=()))
        return self.attempt(action, lambda: self.commands.run_until(action.command, action.node, _held_by(action)))

    def _drain_command(self, action: Action) -> tuple[str, ...]:
        return self.commands.filled(self.rule.drain, action.node, reason_of(action))


def _held_by(action: Action) -> Callable[[NodeNow], bool]:
    return lambda now: now.drained and now.reason.startswith(action.mark)
