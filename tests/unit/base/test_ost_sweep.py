"""The sweep of object storage targets: its scripts, Lustre's commands replayed and fio real, and its judgement."""

import os
import pathlib
import subprocess
from types import SimpleNamespace

import pytest
from reframe.core.exceptions import SanityError

from reframe_checks.base.job_files import KILLABLE, source
from reframe_checks.parsers import file_benchmarks, lustre
from reframe_checks.parsers.job_scripts import OstTurn
from reframe_checks.storage.ost_sweep import OstSweep
from tests.figures import figure
from tests.stand_in import StandIn
from tests.unit.conftest import DATA

SOURCES = pathlib.Path(__file__).parents[3] / "reframe_checks/storage/src"
# Output of Lustre's and Slurm's commands, which are missing here; notes each call.
REPLAYED = {
    "lfs": f"""
        echo "lfs $*" >> calls
        case $1 in osts) cat {DATA}/lustre/composed_osts.txt ;; getstripe) echo 5 ;; esac
        [[ $* != *"--stripe-index 7 "* ]] || {{ echo "error: setstripe: No space left on device" >&2; exit 28; }}""",
    "lctl": f"cat {DATA}/lustre/composed_connections.txt",
    "scontrol": "printf 'node%s\\n' 1 2 3",
}


@pytest.fixture
def in_job(tmp_path):
    """Runs a script of the check as its job does, in a folder of its own."""
    for script in SOURCES.glob("ost_*"):
        (tmp_path / script.name).symlink_to(script)
    (tmp_path / KILLABLE).symlink_to(source(KILLABLE))
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in REPLAYED.items():
        (programs / name).write_text(f"#!/usr/bin/env bash\n{text}\n", encoding="utf-8")
        (programs / name).chmod(0o755)

    def run(*words, node="node1"):
        path = f"{programs}:{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "SLURMD_NODENAME": node, "SLURM_JOB_NODELIST": "node[1-3]"}
        subprocess.run(words, cwd=tmp_path, env=environment, check=True)

    (tmp_path / "target").mkdir()
    return SimpleNamespace(run=run, folder=tmp_path)


def test_the_job_asks_lustre_and_each_node_writes_to_its_target_only(in_job):
    in_job.run("./ost_rounds.sh", "target", "2")
    rounds = (in_job.folder / "rounds.txt").read_text("utf-8").splitlines()
    assert len(rounds) == 24
    # Target 7 is full.
    (in_job.folder / "rounds.txt").write_text("1 node1 5\n2 node1 7\n2 node2 6\n", encoding="utf-8")
    options = ["--output-format=json", "--size=1M", "--name=write", "--rw=write", "--bs=64k", "--direct=0"]
    for number in ("1", "2", "3"):
        in_job.run("./ost_on_node.sh", number, "target", *options)
    assert file_benchmarks.fio((in_job.folder / "ost-5-1.json").read_text("utf-8"))[0].write.io_bytes == 1 << 20
    assert lustre.index((in_job.folder / "ost-5-1.index").read_text("utf-8")) == 5
    assert "No space left" in (in_job.folder / "ost-7-2.err").read_text("utf-8")
    left = {path.name for path in in_job.folder.glob("ost-*-*")}
    assert left == {"ost-5-1.json", "ost-5-1.index", "ost-5-1.err", "ost-7-2.err"}
    assert not [path for path in in_job.folder.glob("target/**/*") if path.is_file()]
    calls = (in_job.folder / "calls").read_text("utf-8").splitlines()
    assert "lfs setstripe --stripe-count 1 --stripe-index 5 target/ost-5" in calls
    assert "lfs getstripe --stripe-index target/ost-5/1" in calls


def judged(rates, osts=12, servers=4, inactive=(), turns=None):
    """The check, to read ``rates``, (target, node) -> MB/s or an error, of the composed file system."""
    text = (DATA / "lustre/composed_osts.txt").read_text("utf-8")
    for name in inactive:
        text = text.replace(f"{name}_UUID ACTIVE", f"{name}_UUID INACTIVE")
    said = {
        "osts.txt": text,
        "connections.txt": (DATA / "lustre/composed_connections.txt").read_text("utf-8"),
        "rounds.txt": (DATA / "lustre/rounds.txt").read_text("utf-8") if turns is None else turns,
    }

    def figures_of(turn):
        rate = rates(turn)
        if isinstance(rate, str):
            raise SanityError(rate)
        return {"write": rate, "read": 2 * rate}

    return StandIn(
        OstSweep, passes=2, least_slowdown=1.5, osts=osts, servers=servers, output_text=said.__getitem__,
        figures_of=figures_of,
    )  # fmt: skip


def test_the_slow_target_is_named_and_every_figure_kept():
    check = judged(lambda turn: 100.0 if turn.index == 5 else 1000.0)
    assert check.read_targets().evaluate()
    assert {(one.kind, one.name, one.quantity) for one in check.findings} == {
        ("target", "scratch-OST0005", "write"), ("target", "scratch-OST0005", "read"),
    }  # fmt: skip
    assert figure(OstSweep, "target_uniformity", check) == pytest.approx(0.1)
    assert figure(OstSweep, "client_uniformity", check) == pytest.approx(1)
    assert check.curves["read, by target"] == {number + 1: 200.0 if number == 5 else 2000.0 for number in range(12)}


def test_a_slow_server_is_named_once_for_all_of_its_targets():
    check = judged(lambda turn: 400.0 if turn.index % 4 == 2 else 1000.0)
    assert check.read_targets().evaluate()
    assert {(one.kind, one.name) for one in check.findings} == {("server", "10.1.0.13@o2ib")}


def test_what_cannot_be_measured_or_is_inactive_fails_by_name():
    check = judged(lambda turn: "No space left" if turn.index == 7 else 1000.0)
    with pytest.raises(SanityError, match=r"1 targets could not be measured: scratch-OST0007: No space left on node"):
        check.read_targets().evaluate()
    assert [(one.name, one.score, one.nodes) for one in check.findings] == [("scratch-OST0007", None, ())]
    active = "".join(
        line for line in (DATA / "lustre/rounds.txt").read_text("utf-8").splitlines(True) if line.split()[2] != "7"
    )
    check = judged(lambda turn: 1000.0, inactive=["scratch-OST0007"], turns=active)
    with pytest.raises(SanityError, match="scratch-OST0007: it is inactive"):
        check.read_targets().evaluate()


@pytest.mark.parametrize(("osts", "servers"), [(13, 4), (12, 5)])
def test_other_targets_or_servers_than_the_site_states_fail(osts, servers):
    with pytest.raises(SanityError, match=f"12 targets on 4 servers, expected {osts} on {servers}"):
        judged(lambda turn: 1000.0, osts, servers).read_targets().evaluate()


def test_a_plan_that_leaves_a_target_out_or_shares_a_server_is_refused():
    turns = (DATA / "lustre/rounds.txt").read_text("utf-8").splitlines(True)
    with pytest.raises(SanityError, match="expected each active one 2 times"):
        judged(lambda turn: 1000.0, turns="".join(turns[:-1])).read_targets().evaluate()
    together = "".join(turns).replace("1 node2 1\n", "1 node2 4\n").replace("2 node2 4\n", "2 node2 1\n")
    with pytest.raises(SanityError, match="two targets of one server"):
        judged(lambda turn: 1000.0, turns=together).read_targets().evaluate()


def test_a_file_that_lay_elsewhere_is_no_figure():
    said = {"ost-5-1.json": "{}", "ost-5-1.index": "6\n"}
    with pytest.raises(SanityError, match="the file was on target 6, expected 5"):
        StandIn(OstSweep, output_text=said.__getitem__).figures_of(OstTurn(1, "node1", 5))
