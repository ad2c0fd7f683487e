"""Drain nodes, test them in a reservation, and resume them, by a site's rule.

Kappa records each action before its command runs.
"""

import contextlib
import datetime
import pathlib
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from kappa.app.conduct.leftovers import job_ended
from kappa.app.conduct.node_commands import CommandError, NodeCommands
from kappa.app.conduct.session import Conductor, ReframeSession
from kappa.app.conduct.validation import REPORT
from kappa.core.ground.errors import InputError
from kappa.core.ground.locks import locked
from kappa.core.ground.processes import StoppedError
from kappa.core.ground.whole_files import make_folder
from kappa.core.record import model
from kappa.core.record.actions import FOLDER, Action, Evidence, Outcome, keep_action, load_actions
from kappa.core.record.load import load_session
from kappa.core.sites.load import Site
from kappa.core.sites.site_file import SiteDescription
from kappa.core.vocabulary.rules import QuarantineRule as Rule
from reports.quarantine.decide import NodeNow, decide, end_of, held_nodes, interrupted_tests, is_due, reason_of
from reports.quarantine.evidence import Tested, checks_of_test, judge_test
from reports.verdict.state import State

Named = Mapping[str, tuple[Evidence, ...]]
RETURNS = "returns"
PURPOSE = "return"


class Quarantine:
    """A site's rule, its commands, and the recorded actions below ``results``."""

    def __init__(self, site: Site, description: SiteDescription, rule: Rule, results: pathlib.Path) -> None:
        self.site, self.partitions, self.rule = site, description.described.partitions, rule
        self.commands = NodeCommands(description)
        self.results, self.history = results, results / "history"

    @classmethod
    def of(cls, site: Site, results: pathlib.Path) -> "Quarantine | None":
        """Return the site's quarantine; ``None`` if the site has no rule.

        :raises InputError: the site cannot be used.
        """
        description = site.description
        rule = description.described.quarantine if description else None
        return cls(site, description, rule, results) if description and rule else None

    @classmethod
    def required(cls, site: Site, results: pathlib.Path) -> "Quarantine":
        """Return the site's quarantine.

        :raises InputError: the site has no rule, or cannot be used.
        """
        found = cls.of(site, results)
        if found is None:
            where = f"{site.path}/site.yaml"
            raise InputError(f"{where} has no quarantine, so Kappa drains no node: see docs/quarantine.md")
        return found

    @contextlib.contextmanager
    def alone(self, waiting: Callable[[], object]) -> Iterator[int]:
        """Keep other commands of this site off the nodes, clean up after a killed command, and yield the lock.

        :param waiting: see ``locked``.

        :raises InputError: the cleaning up failed. The operator must do it.
        """
        with locked(self.history / FOLDER / ".lock", waiting=waiting, has_ended=job_ended(self.site)) as lock:
            for test in interrupted_tests(load_actions(self.history)):
                self._clear_up(test)
            yield lock

    def held(self) -> dict[str, Action]:
        """Return the nodes in quarantine, each with the action that drained it.

        :raises InputError: Slurm does not answer, or a record is damaged.
        """
        return held_nodes(self.commands.nodes(), load_actions(self.history))

    def decided(self, named: Named, measured: float, report: str) -> list[Action]:
        """Decide the actions for the nodes that findings name. Errors as in ``held``."""
        actions, cluster = load_actions(self.history), self.commands.nodes()
        decisions = decide(named, self.rule, cluster, actions, measured=measured, now=time.time(), report=report)
        return [replace(one, command=self._drain_command(one)) if one.quarantines else one for one in decisions]

    def drain(self, decisions: list[Action]) -> list[Action]:
        """Carry out the decisions, record them and the declined ones, and return the outcomes."""
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
        """End a node's test: drain the node again unless it passed, then delete its reservation.

        :returns: why that failed; empty if it did not.
        """
        try:
            now = self.commands.nodes().get(test.node)
            if now and not passed and not now.drained and (again := self._kept(test, why, evidence)).outcome != "done":
                return f"it is not drained again, so its reservation stays and keeps other jobs off it: {again.said}"
            self.commands.run(self.commands.filled(self.rule.unreserve, test.node))
        except CommandError as err:
            return f"its reservation stays: {err}"
        return ""

    def _clear_up(self, test: Action) -> None:
        """Clean up after a killed test. Somebody may have changed the node's state since."""
        said, now = "the test was killed", self.commands.nodes().get(test.node)
        if now and not now.drained and not now.reserved:
            said += ", and its reservation has ended since"
        elif problem := self.shut(test, passed=False, why="its test was killed"):
            now = self.commands.nodes().get(test.node)
            if now and not now.drained:
                raise CommandError(f"{said}; drain {test.node} by hand: {problem}")
            said += f"; {problem}"
        self.keep(replace(test, outcome="failed", said=said))

    def _kept(self, test: Action, why: str, evidence: tuple[Evidence, ...]) -> Action:
        # The next test re-measures the checks that named the node, too.
        every = {(one.check, one.case, one.partition): one for one in (*test.evidence, *evidence)}
        now = time.time()
        again = Action(what="keep", node=test.node, time=now, outcome="begun", said=why, until=end_of(self.rule, now),
                       evidence=tuple(every.values()), report=test.report)  # fmt: skip
        return self._drained(replace(again, command=self._drain_command(again)))

    def _drained(self, action: Action) -> Action:
        now = self.commands.nodes().get(action.node)
        if now is None or now.others_matter:
            # Somebody else has changed the node's state in the meantime.
            return self.keep(replace(action, outcome="declined", said=f"{now or 'Slurm does not list it'}", command=()))
        return self.attempt(action, lambda: self.commands.run_until(action.command, action.node, _held_by(action)))

    def _drain_command(self, action: Action) -> tuple[str, ...]:
        return self.commands.filled(self.rule.drain, action.node, reason_of(action))


def _held_by(action: Action) -> Callable[[NodeNow], bool]:
    return lambda now: now.drained and now.reason.startswith(action.mark)


class ReturnTest:
    """The test of a node in quarantine. ``held`` is the action that drained it; ``options`` are ReFrame's."""

    def __init__(self, quarantine: Quarantine, held: Action, options: Sequence[str]) -> None:
        self.quarantine, self.held, self.options = quarantine, held, options
        begun = time.time()
        folder = pathlib.Path(RETURNS, f"{datetime.datetime.fromtimestamp(begun):%Y%m%dT%H%M%S}-{held.node}")
        command = quarantine.commands.filled(quarantine.rule.resume, held.node)
        self.planned = Action(what="return", node=held.node, time=begun, outcome="begun", command=command,
                              evidence=held.evidence, report=str(folder))  # fmt: skip

    @property
    def sessions(self) -> dict[str, list[str]]:
        """Return ReFrame's options for the session on each partition in which the node was named."""
        rule, partitions, site = self.quarantine.rule, self.quarantine.partitions, self.quarantine.site
        left_out = [name for one in partitions.values() for name in one.not_in.get(rule.mode, ())]
        reservation = f"reservation={self.quarantine.commands.reservation(self.held.node)}"
        return {
            partition: [
                # If an option is repeated, the last one counts.
                *self.options,
                "-r", f"--system={site.name}:{partition}", f"--name=^({'|'.join(map(re.escape, checks))})(%|$)",
                "-J", reservation, "-J", f"nodelist={self.held.node}", "-S", f"most_nodes={rule.nodes}",
                f"--session-extras=mode={rule.mode},purpose={PURPOSE}",
            ]
            for partition, checks in checks_of_test(self.held.evidence, rule.mode, left_out).items()
            if partition in partitions
        }  # fmt: skip

    def commands(self) -> list[Sequence[str]]:
        """Return the commands of ``run`` for a node that passes."""
        fill, rule, node = self.quarantine.commands.filled, self.quarantine.rule, self.held.node
        sessions = [["reframe", *options] for options in self.sessions.values()]
        return [fill(rule.reserve, node), self.planned.command, *sessions, fill(rule.unreserve, node)]

    def run(self, conductor: Conductor) -> tuple[Action, State]:
        """Test the node. Leave it in service if it passed, else drain it again. Record both.

        :returns: the action with its outcome, and the test's state. It is INCOMPLETE also if the test was not possible.
        :raises StoppedError: there was a reason to stop. The node is drained again.
        :raises InputError: the action cannot be recorded.
        """
        test, quarantine, commands = self.quarantine.keep(self.planned), self.quarantine, self.quarantine.commands
        try:
            if not self.planned.command:
                raise CommandError("site.yaml has no quarantine.resume: without it no job can test a drained node")
            commands.run(commands.filled(quarantine.rule.reserve, test.node))
        except CommandError as err:
            return quarantine.keep(replace(test, outcome="failed", said=str(err))), State.INCOMPLETE
        tested, stopped = Tested(State.INCOMPLETE, ("the test did not finish",)), None
        try:
            # Resume only now: the reservation keeps other jobs off the node.
            commands.run_until(self.planned.command, test.node, _answers)
            tested = judge_test(test.node, self._measured(conductor), self.held.evidence)
        except StoppedError as err:
            stopped, tested = err, Tested(State.INCOMPLETE, (str(err),))
        except InputError as err:
            tested = Tested(State.INCOMPLETE, (str(err),))
        finally:
            passed, why = tested.state is State.PASS, ": ".join((tested.state.word.upper(), *tested.why[:3]))
            problem = quarantine.shut(test, passed=passed, why=why, evidence=tested.evidence)
        outcome: Outcome = "failed" if problem else "done" if passed else "declined"
        done = quarantine.keep(replace(test, outcome=outcome, said=f"{why}; {problem}" if problem else why))
        if stopped:
            raise stopped
        return done, State.INCOMPLETE if problem else tested.state

    def _measured(self, conductor: Conductor) -> Mapping[str, model.Session]:
        found = {}
        for partition, options in self.sessions.items():
            report = self.quarantine.results / self.planned.report / partition / REPORT
            make_folder(report.parent)
            session = ReframeSession(self.quarantine.site, report, options)
            conductor.say(f"testing {self.held.node} in {partition}; ReFrame's output: {session.printed}")
            session.run(conductor)
            found[partition] = load_session(report)
        return found


def _answers(now: NodeNow) -> bool:
    return now.responds and not now.others_matter


def end_quarantines(
    quarantine: Quarantine, conductor: Conductor, options: Sequence[str]
) -> Iterator[tuple[Action, State]]:
    """Apply the rule to each node whose quarantine has ended. Yield the action and the state of its test.

    Errors as in ``ReturnTest.run``.
    """
    now = time.time()
    for held in quarantine.held().values():
        if is_due(held, now):
            yield _ended(quarantine, held, conductor, options)


def _ended(quarantine: Quarantine, held: Action, conductor: Conductor, options: Sequence[str]) -> tuple[Action, State]:
    at_end, commands = quarantine.rule.at_end, quarantine.commands
    if at_end == "test":
        return ReturnTest(quarantine, held, options).run(conductor)
    released = Action(what="release", node=held.node, time=time.time(), outcome="begun", evidence=held.evidence,
                      command=commands.filled(quarantine.rule.resume, held.node))  # fmt: skip
    if at_end == "tell":
        said = f"`kappa node return {quarantine.site.name} {held.node}` tests it"
        return replace(released, outcome="declined", said=said), State.INCOMPLETE
    done = quarantine.attempt(released, lambda: commands.run_until(released.command, held.node, _answers))
    return done, State.PASS if done.outcome == "done" else State.INCOMPLETE
