"""The return-to-service test of a node in quarantine, in a reservation that keeps others' jobs from it."""

import datetime
import pathlib
import re
import time
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from kappa.app.conduct.node_commands import CommandError
from kappa.app.conduct.quarantine import Quarantine
from kappa.app.conduct.session import Conductor, Session
from kappa.app.conduct.validation import REPORT
from kappa.core.ground.errors import InputError
from kappa.core.ground.processes import StoppedError
from kappa.core.ground.whole_files import make_folder
from kappa.core.record import model
from kappa.core.record.actions import Action, Outcome
from kappa.core.record.load import load_session
from reports.quarantine.return_test import Tested, checks_of_test, judge_test
from reports.quarantine.standing import NodeNow, is_due
from reports.verdict.state import State

FOLDER = "returns"
PURPOSE = "return"


class ReturnTest:
    """The test of the node that ``held`` has put in quarantine; ``options`` are ReFrame's."""

    def __init__(self, quarantine: Quarantine, held: Action, options: Sequence[str]) -> None:
        self.quarantine, self.held, self.options = quarantine, held, options
        begun = time.time()
        folder = pathlib.Path(FOLDER, f"{datetime.datetime.fromtimestamp(begun):%Y%m%dT%H%M%S}-{held.node}")
        command = quarantine.commands.filled(quarantine.rule.resume, held.node)
        self.planned = Action(what="return", node=held.node, time=begun, outcome="begun", command=command,
                              evidence=held.evidence, report=str(folder))  # fmt: skip

    @property
    def sessions(self) -> dict[str, list[str]]:
        """ReFrame's options for the session on each partition on which the node was named."""
        rule, site = self.quarantine.rule, self.quarantine.site
        left_out = [name for one in site.described.partitions.values() for name in one.not_in.get(rule.mode, ())]
        reservation = f"reservation={self.quarantine.commands.reservation(self.held.node)}"
        return {
            partition: [
                # Of what is said twice, the last counts.
                *self.options,
                "-r", f"--system={site.name}:{partition}", f"--name=^({'|'.join(map(re.escape, checks))})(%|$)",
                "-J", reservation, "-J", f"nodelist={self.held.node}", "-S", f"most_nodes={rule.nodes}",
                f"--session-extras=mode={rule.mode},purpose={PURPOSE}",
            ]
            for partition, checks in checks_of_test(self.held.evidence, rule.mode, left_out).items()
            if partition in site.described.partitions
        }  # fmt: skip

    def commands(self) -> list[Sequence[str]]:
        """What ``run`` would run, when the node passes."""
        fill, rule, node = self.quarantine.commands.filled, self.quarantine.rule, self.held.node
        sessions = [["reframe", *options] for options in self.sessions.values()]
        return [fill(rule.reserve, node), self.planned.command, *sessions, fill(rule.unreserve, node)]

    def run(self, conductor: Conductor) -> tuple[Action, State]:
        """Test the node and, when it passed, leave it in service; else it is drained again. Records both.

        Returns what came of it, with the state of the test: INCOMPLETE, too, when it could not be done.

        :raises StoppedError: there was a reason to stop; the node is drained again.
        :raises InputError: nothing can be recorded.
        """
        test, quarantine, commands = self.quarantine.keep(self.planned), self.quarantine, self.quarantine.commands
        try:
            if not self.planned.command:
                raise CommandError("site.yaml has no quarantine.resume, without which no job comes to a drained node")
            commands.run(commands.filled(quarantine.rule.reserve, test.node))
        except CommandError as err:
            return quarantine.keep(replace(test, outcome="failed", said=str(err))), State.INCOMPLETE
        tested, stopped = Tested(State.INCOMPLETE, ("it did not come to its end",)), None
        try:
            # Only now, when no other's job can come to it.
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
            session = Session(self.quarantine.site.folder / "settings.py", report, options)
            conductor.say(f"testing {self.held.node} on {partition}; ReFrame prints to {session.printed}")
            session.run(conductor)
            found[partition] = load_session(report)
        return found


def _answers(now: NodeNow) -> bool:
    return now.responds and not now.others_matter


def end_quarantines(
    quarantine: Quarantine, conductor: Conductor, options: Sequence[str]
) -> Iterator[tuple[Action, State]]:
    """Do what the rule says with each node whose quarantine has ended; what came of it, and the state of its test.

    Errors as of ``ReturnTest.run``.
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
        said = f"`kappa return {quarantine.site.name} {held.node}` tests it"
        return replace(released, outcome="declined", said=said), State.INCOMPLETE
    done = quarantine.attempt(released, lambda: commands.run_until(released.command, held.node, _answers))
    return done, State.PASS if done.outcome == "done" else State.INCOMPLETE
