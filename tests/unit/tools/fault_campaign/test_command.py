"""``run`` without a round: refused options, continued campaigns, and tables of past rounds."""

import signal

import pytest

from tests.fault_campaign import rounds
from tests.fault_campaign.__main__ import main
from tests.fault_campaign.outcomes import CampaignFolder, Settings
from tests.fault_campaign.table import PLACE
from tests.unit.tools.fault_campaign.samples import outcome


@pytest.fixture(autouse=True)
def handlers():
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def campaign(tmp_path):
    """campaign(*words): the exit status of the command on the folder ``state``."""

    def campaign(*words):
        try:
            return main(["run", f"--state={tmp_path / 'state'}", *words])
        except SystemExit as err:
            return err.code

    return campaign


def test_tables_of_campaigns_that_are_done(campaign, tmp_path, capsys):
    for name, node in (("state", "node1"), ("other", "node2")):
        state = CampaignFolder(tmp_path / name)
        state.begin(Settings(7, ("slow link",)))
        state.add(outcome(0, "slow link", node))
    page = tmp_path / "page.md"
    page.write_text(f"before\n{PLACE.begin}\n{PLACE.end}\nafter\n")
    assert campaign("--rounds=0", f"--also={tmp_path / 'other'}", f"--table={page}") == 0
    said = capsys.readouterr().out
    assert "| slow link | the node's outgoing traffic is limited to 300–600 Mbit/s | 2/2 (16–100 %) |" in said
    assert said.strip() in page.read_text()


def test_a_page_without_the_place_of_the_tables_is_refused_before_any_round(campaign, tmp_path, capsys):
    (tmp_path / "page.md").write_text("another page\n")
    for page in (tmp_path / "page.md", tmp_path / "missing.md"):
        assert campaign(f"--table={page}") == 2
        assert str(page) in capsys.readouterr().err
    assert not (tmp_path / "state").exists()


def test_what_is_left_of_a_plan_is_run_and_counted(campaign, tmp_path, monkeypatch, capsys):
    ran = []
    monkeypatch.setattr(rounds.Cluster, "end", lambda _: None)
    monkeypatch.setattr(rounds.Cluster, "make_healthy", lambda _: None)

    def run_round(_, planned, kinds):
        assert planned.kind is None or planned.kind in kinds
        ran.append(planned)
        if len(ran) == 3:
            raise KeyboardInterrupt
        return outcome(planned.number, planned.kind, planned.node)

    monkeypatch.setattr(rounds, "run_round", run_round)
    words = ("--kind=slow link", "--kind=full disk", "--rounds=2")
    assert campaign(*words) == 2
    assert "interrupted; run the same command" in capsys.readouterr().err
    assert campaign(*words) == 0
    assert [planned.number for planned in ran] == [0, 1, 2, 2, 3, 4, 5]
    assert "4 rounds with a fault and 2 healthy ones" in capsys.readouterr().out
    assert campaign("--seed=2", *words) == 2
    assert "another campaign" in capsys.readouterr().err


@pytest.mark.parametrize("words", [("--plant=true",), ("--mend=true",), ("--plant=true", "--mend= ")])
def test_a_fault_of_ones_own_is_two_commands(campaign, words, tmp_path, capsys):
    assert campaign(*words) == 2
    assert "--plant and --mend belong together" in capsys.readouterr().err
    assert not (tmp_path / "state").exists()


def test_a_fault_of_ones_own_is_in_the_same_rounds_and_table(campaign, monkeypatch, capsys):
    monkeypatch.setattr(rounds.Cluster, "end", lambda _: None)
    monkeypatch.setattr(rounds.Cluster, "make_healthy", lambda _: None)
    monkeypatch.setattr(rounds, "run_round", lambda _, planned, kinds: outcome(planned.number, planned.kind, "node1"))
    own = ("--plant=a | b", "--mend=c")
    assert campaign("--rounds=1", "--kind=slow link", *own) == 0
    said = capsys.readouterr().out
    [row] = [line for line in said.splitlines() if line.startswith("| own command | `a \\| b` | 1/1")]
    assert row.split(" | ")[6] == "NodeLinks 1"
    assert "| slow link |" in said
    assert campaign("--rounds=1", "--kind=slow link", "--plant=a | b", "--mend=other") == 2
    assert "another campaign" in capsys.readouterr().err


def test_no_round_begins_after_the_minutes(campaign, monkeypatch, capsys):
    monkeypatch.setattr(rounds.Cluster, "end", lambda _: None)
    assert campaign("--kind=slow link", "--minutes=0") == 0
    assert "6 rounds are left" in capsys.readouterr().out
