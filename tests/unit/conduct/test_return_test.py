"""The test of a node in quarantine: the reservation first, the node drained again before it ends, unless it passed."""

import re
import time

import pytest

from kappa.app.conduct.node_commands import CommandError
from kappa.app.conduct.quarantine import ReturnTest, end_quarantines
from kappa.app.conduct.session import Conductor
from kappa.core.ground.processes import Stop, StoppedError
from kappa.core.record.actions import Action, keep_action, load_actions
from reports.verdict.state import State
from tests.unit.conduct.quarantined import RULE
from tests.waiting import late_when


def give_back(ward, held, stop=None):
    return ReturnTest(ward.quarantine, held, ["-S", "a=b"]).run(Conductor(stop or Stop()))


def steps(ward):
    """The first two words of what was called."""
    return [" ".join(line.split()[:2]) for line in ward.slurm.called]


def test_one_that_passes_is_given_back(ward):
    action, state = give_back(ward, ward.drained())
    assert (state, action.outcome, action.said) == (State.PASS, "done", "PASS")
    create, resume, reframe, delete = ward.slurm.called
    assert "ReservationName=kappa-return-node2 Nodes=node2 Users=" in create and "Flags=MAINT,FLEX" in create
    assert resume == "update NodeName=node2 State=RESUME"
    assert "--system=here:cpu" in reframe
    assert {"GpuInventory", "OsuLatency"} <= {*re.search(r"--name=\^\(([\w|]+)\)", reframe)[1].split("|")}
    assert "-J reservation=kappa-return-node2 -J nodelist=node2 -S most_nodes=4 " in reframe
    assert " -S a=b -r " in reframe and "--session-extras=mode=nightly,purpose=return --report-file=" in reframe
    assert delete == "delete ReservationName=kappa-return-node2"
    assert ward.slurm.shown("node2") == "idle|none"
    assert ward.recorded == [("drain", "done"), ("return", "done")]


def test_what_is_said_before_is_what_is_done(ward):
    test = ReturnTest(ward.quarantine, ward.drained(), [])
    planned = [" ".join(words[1:]) for words in test.commands()]
    test.run(Conductor(Stop()))
    done = ward.slurm.called
    assert [planned[0], planned[1], planned[3]] == [done[0], done[1], done[3]]
    assert planned[2] in done[2]


def test_one_that_fails_is_drained_again_before_its_reservation_ends(ward):
    ward.measures(900.0)
    held = ward.drained()
    action, state = give_back(ward, held)
    assert (state, action.outcome) == (State.FAIL, "declined")
    assert "FAIL: OsuLatency" in action.said and "allowed ≤ 500" in action.said
    assert steps(ward)[2][:7] == "reframe" and steps(ward)[3:] == [
        "update NodeName=node2", "delete ReservationName=kappa-return-node2",
    ]  # fmt: skip
    again = ward.quarantine.held()["node2"]
    assert again.what == "keep" and again.until > held.until
    # Its next test is after what named it first, and what failed now.
    assert {one.kind for one in again.evidence} == {"confirmed", "test"}


def test_no_result_is_no_pass(ward):
    ward.measures(9.0, "exit 1")
    action, state = give_back(ward, ward.drained())
    assert (state, action.outcome) == (State.INCOMPLETE, "declined")
    assert "ReFrame wrote no report" in action.said and list(ward.quarantine.held()) == ["node2"]


def test_a_check_that_does_not_run_there_is_no_pass(ward):
    held = ward.drained()
    (ward.folder / "report.json").write_text((ward.folder / "report.json").read_text().replace("node2", "node3"))
    assert give_back(ward, held)[1] is State.INCOMPLETE
    assert list(ward.quarantine.held()) == ["node2"]


@pytest.mark.parametrize(("refused", "steps_done"), [("create", 1), ("update", 3)])
def test_a_command_that_is_refused_leaves_the_node_drained(ward, refused, steps_done):
    held = ward.drained()
    ward.does("before", f'if [[ $1 == {refused} ]]; then echo "Access/permission denied" >&2; exit 1; fi')
    action, state = give_back(ward, held)
    assert state is State.INCOMPLETE and "it needs an operator of Slurm" in action.said
    assert ward.quarantine.held() == {"node2": held}
    assert len(ward.slurm.called) == steps_done


def test_one_that_cannot_be_drained_again_keeps_its_reservation(ward):
    ward.measures(900.0)
    held = ward.drained()
    ward.does("before", "if [[ $3 == State=DRAIN ]]; then echo 'permission denied' >&2; exit 1; fi")
    action, state = give_back(ward, held)
    assert (state, action.outcome) == (State.INCOMPLETE, "failed")
    assert "so its reservation stays and keeps other jobs off it" in action.said
    assert not any(line.startswith("delete") for line in ward.slurm.called)


@pytest.mark.parametrize("value", [9.0, 900.0])
def test_somebody_who_drains_it_during_the_test_keeps_the_reason(ward, value):
    held = ward.drained()
    ward.measures(value, "sed -i 's/|node2|.*/|node2|drained|fan broken/' nodes")
    give_back(ward, held)
    assert ward.slurm.shown("node2") == "drained|fan broken"
    assert steps(ward)[-1] == "delete ReservationName=kappa-return-node2"


def test_a_node_that_dies_in_its_test_does_not_come_back_by_itself(ward):
    held = ward.drained()
    ward.measures(900.0, "sed -i 's/|node2|.*/|node2|down*|Not responding/' nodes")
    give_back(ward, held)
    assert list(ward.quarantine.held()) == ["node2"]


def test_a_node_that_does_not_answer_is_not_measured(ward):
    held = ward.drained()
    ward.does(
        "before", 'if [[ $3 == State=RESUME ]]; then sed -i "s/|node2|.*/|node2|down*|Not responding/" nodes; exit; fi'
    )
    action, _ = give_back(ward, held)
    assert "0.5 s later node2 is down" in action.said
    assert not any(line.startswith("reframe") for line in ward.slurm.called)
    assert list(ward.quarantine.held()) == ["node2"]


def test_told_to_stop_it_drains_the_node_again(ward, monkeypatch):
    held = ward.drained()
    ward.measures(9.0, "touch started; exec sleep 600")
    late_when((ward.slurm.folder / "started").exists, monkeypatch)
    with pytest.raises(StoppedError):
        give_back(ward, held, Stop(time.monotonic() + 1800))
    assert list(ward.quarantine.held()) == ["node2"]
    assert ward.recorded == [("drain", "done"), ("return", "declined"), ("keep", "done")]
    assert steps(ward)[-1] == "delete ReservationName=kappa-return-node2"


def test_what_a_killed_test_left_is_cleared_up_by_the_next_command(ward):
    held = ward.drained()
    test = ReturnTest(ward.quarantine, held, [])
    keep_action(ward.results / "history", test.planned)
    ward.slurm.put("node2", "maint")
    with ward.quarantine.alone(lambda: None):
        assert steps(ward) == ["update NodeName=node2", "delete ReservationName=kappa-return-node2"]
    assert ward.recorded == [("drain", "done"), ("return", "failed"), ("keep", "done")]
    assert ward.quarantine.held()["node2"].said == "its test was killed"
    with ward.quarantine.alone(lambda: None):
        assert len(ward.slurm.called) == 2


def test_a_killed_test_whose_reservation_somebody_has_ended_is_left_as_it_is(ward):
    keep_action(ward.results / "history", ReturnTest(ward.quarantine, ward.drained(), []).planned)
    ward.slurm.put("node2", "idle")
    with ward.quarantine.alone(lambda: None):
        assert (ward.slurm.called, ward.slurm.shown("node2")) == ([], "idle|none")
    assert ward.recorded == [("drain", "done"), ("return", "failed")]


def test_what_a_killed_test_left_and_nothing_can_clear_up_stops_every_command(ward):
    keep_action(ward.results / "history", ReturnTest(ward.quarantine, ward.drained(), []).planned)
    ward.slurm.put("node2", "mixed$")
    ward.does("before", "exit 1")
    for _ in range(2):
        needs_a_hand = pytest.raises(CommandError, match="was killed; drain node2 by hand: it is not drained again")
        with needs_a_hand, ward.quarantine.alone(lambda: None):
            pass
    assert not any(line.startswith("delete") for line in ward.slurm.called)


def test_without_a_command_to_resume_nothing_is_tested(ward):
    ward.follow(RULE.replace("  resume:", "  at_end: tell\n  # resume:"))
    action, state = give_back(ward, ward.drained())
    assert (state, action.outcome, ward.slurm.called) == (State.INCOMPLETE, "failed", [])
    assert "has no quarantine.resume" in action.said


def ended(ward, **rule):
    """Return the result of a quarantine that has ended."""
    held = ward.drained()
    keep_action(ward.results / "history", Action(**{**as_dict(held), "until": held.time}))
    return [(action.what, action.outcome) for action, _ in end_quarantines(ward.quarantine, Conductor(Stop()), [])]


def as_dict(action):
    return {name: getattr(action, name) for name in action.__struct_fields__}


def test_a_quarantine_that_has_not_ended_goes_on(ward):
    ward.drained()
    assert list(end_quarantines(ward.quarantine, Conductor(Stop()), [])) == []


def test_a_quarantine_ends_with_a_test(ward):
    assert ended(ward) == [("return", "done")]


def test_or_without_one_if_the_site_says_so(ward):
    ward.follow(RULE + "  at_end: release\n")
    assert ended(ward) == [("release", "done")]
    assert (ward.slurm.called, ward.slurm.shown("node2")) == (["update NodeName=node2 State=RESUME"], "idle|none")
    assert [one.what for one in load_actions(ward.results / "history")] == ["drain", "release"]


def test_or_it_is_only_told(ward):
    ward.follow(RULE + "  at_end: tell\n")
    assert ended(ward) == [("release", "declined")]
    assert (ward.slurm.called, ward.recorded) == ([], [("drain", "done")])
