"""The program itself, run as tasks of a step that meet over this machine's network."""

import ast
import contextlib
import json
import os
import pathlib
import re
import socket
import subprocess
import sys

import pytest

from kappa.core.ground.folders import SUITE
from kappa.node import gather, meeting, packed
from reframe_checks.node.partition_health import FACTS
from reframe_checks.parsers import job_scripts
from tests.waiting import PATIENCE_S, until


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("program") / packed.PROGRAM
    path.write_bytes(packed.program())
    return path


@pytest.fixture
def start(program):
    """Start the program on a node."""

    def started(*arguments, folder, **variables):
        environment = {key: value for key, value in os.environ.items() if not key.startswith("SLURM")}
        return subprocess.Popen(
            [sys.executable, "-I", "-S", program, "facts", "--json", *arguments],
            cwd=folder, env=environment | variables, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    return started


@pytest.fixture
def start_task(start):
    """Start a task of a step of several, which asks for few facts."""

    def started(number, tasks, *arguments, folder):
        step = {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": str(tasks)}
        step |= {"SLURM_PROCID": str(number), "SLURMD_NODENAME": f"127.0.0.{number + 1}"}
        return start("identity.*", *arguments, folder=folder, **step)

    return started


def test_on_its_own(start, tmp_path):
    process = start(*FACTS, "--mount", "/proc", "--mount", str(tmp_path / "gone"), folder=tmp_path)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, err) == (0, "")
    (facts,) = job_scripts.node_facts(out, expect_nodes=1)
    assert facts.host == socket.gethostname()
    assert facts.facts["cpu.count"] == os.cpu_count()
    assert facts.facts["kernel.release"] == os.uname().release
    total = re.search(r"MemTotal:\s+(\d+)", pathlib.Path("/proc/meminfo").read_text())
    assert facts.facts["memory.total_kib"] == int(total[1])
    assert (facts.facts["mount./proc.type"], facts.facts["mount./proc.writable"]) == ("proc", True)
    assert facts.facts[f"mount.{tmp_path}/gone.type"] is None
    assert (facts.clock_offset_us, facts.clock_rtt_us) == (0, 0)
    assert not [name for name in facts.facts if name.startswith("failed.")]


def test_in_a_batch_script_it_is_on_its_own(start, tmp_path):
    process = start("identity.*", folder=tmp_path, SLURM_JOB_ID="7", SLURM_NTASKS="4", SLURM_PROCID="0")
    out, _ = process.communicate(timeout=PATIENCE_S)
    assert len(job_scripts.node_facts(out)) == 1


def test_three_tasks_meet(start_task, tmp_path):
    processes = [start_task(number, 3, folder=tmp_path) for number in (2, 1, 0)]
    outputs = [process.communicate(timeout=PATIENCE_S) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert [bool(out) for out, _ in outputs] == [False, False, True]
    facts = job_scripts.node_facts(outputs[2][0], expect_nodes=3)
    assert [node.host for node in facts] == [f"127.0.0.{number + 1}" for number in range(3)]
    # One clock: the offset is within the error that the round trip bounds.
    assert all(abs(node.clock_offset_us) <= node.clock_rtt_us / 2 + 1 for node in facts[1:])
    assert list(tmp_path.iterdir()) == []


def test_a_foreign_connection_and_a_stale_file_do_no_harm(start_task, tmp_path):
    stale = tmp_path / "kappa-node_7.0.0.json"
    stale.write_text(json.dumps({"hosts": ["127.0.0.1"], "port": 1, "token": "00"}))
    client = start_task(1, 2, folder=tmp_path)
    server = start_task(0, 2, folder=tmp_path)

    def served():
        # Task 0 may end at any moment.
        with contextlib.suppress(OSError):
            port = json.loads(stale.read_text())["port"]
            with socket.create_connection(("127.0.0.1", port), timeout=1) as stranger:
                stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
        return not stale.exists()

    until(served, "task 0 has removed its file")
    out, _ = server.communicate(timeout=PATIENCE_S)
    client.communicate(timeout=PATIENCE_S)
    assert len(job_scripts.node_facts(out, expect_nodes=2)) == 2


def test_names_are_tried_until_one_answers():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        gather.connect({"hosts": ["no-such-node.invalid", "127.0.0.1"], "port": port}).close()
    with pytest.raises(OSError, match=rf"127\.0\.0\.1:{port}"):
        gather.connect({"hosts": ["127.0.0.1"], "port": port})


def test_a_node_that_resolves_no_name_still_meets_the_others(monkeypatch):
    monkeypatch.setenv("SLURMD_NODENAME", "n1")
    monkeypatch.setattr(gather.socket, "gethostbyname", {"n1": "10.0.0.1"}.__getitem__)
    assert (gather.own_names()[0], gather.own_names()[-1]) == ("n1", "10.0.0.1")


def test_address_is_not_written_through_a_link(tmp_path):
    (tmp_path / "victim").write_text("of the user")
    for name in ("address", f"address.{os.getpid()}"):
        (tmp_path / name).symlink_to("victim")
    meeting.publish(str(tmp_path / "address"), '{"port": 1}')
    assert (tmp_path / "victim").read_text() == "of the user"
    assert json.loads((tmp_path / "address").read_text()) == {"port": 1}


def test_task_0_never_appears(start_task, tmp_path):
    process = start_task(1, 2, "--timeout", "0.3", folder=tmp_path)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out) == (1, "")
    assert "127.0.0.2: no file" in err and "did task 0 start" in err


def test_another_task_never_appears(start_task, tmp_path):
    process = start_task(0, 3, "--timeout", "0.3", folder=tmp_path)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    assert "no answer from tasks [1, 2]" in err
    assert len(job_scripts.node_facts(out)) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", sorted((SUITE / "kappa/node").rglob("*.py")), ids=lambda path: path.name)
def test_syntax_of_the_oldest_python_that_sites_have(path):
    version = sys.version_info[:2] if path.name in packed.NOT_PACKED else (3, 6)
    ast.parse(path.read_text(encoding="utf-8"), feature_version=version)


def test_help_explains_every_field(program):
    command = [sys.executable, program, "facts", "-h"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for field in job_scripts.NodeFacts.__struct_fields__:
        assert re.search(rf"\b{field}\b", text), field
