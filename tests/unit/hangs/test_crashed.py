"""Which node a measurement has crashed on, from what srun and the loader write, and when nobody is named for it."""

import importlib
import os
import pathlib
import subprocess
import sys

import pytest

NODES = ["node1", "node2", "node3", "node4"]
KILLED = """\
srun: Job step aborted: Waiting up to 32 seconds for job step to finish.
slurmstepd: error: *** STEP 7.0 ON node1 CANCELLED AT 2026-11-22T19:40:02 ***
srun: error: node1: task 0: Terminated
srun: error: node[3-4]: tasks 2-3: Killed
"""
FIO = "fio: error while loading shared libraries: libaio.so.1: file too short"
EXECVE = "slurmstepd: error: execve(): ./stream: No such file or directory"


def tasks(node, end, number=1):
    return f"srun: error: {node}: task {number}: {end}\n"


def crashed(said, nodes=NODES):
    known = {"node[1-4]": NODES, "node[1-3]": NODES[:3], "node[2-3]": NODES[1:3]}
    found = importlib.import_module("crashed").crashed(nodes, said, known.__getitem__)
    return {each["node"]: each["said"] for each in found if each["reason"] == "crashed"}


@pytest.mark.parametrize(
    "end",
    ["Segmentation fault", "Segmentation fault (core dumped)", "Bus error", "Illegal instruction", "Aborted",
     "Floating point exception", "Exited with exit code 127", "Exited with exit code 126"],
)  # fmt: skip
def test_the_first_crash_names_its_node_with_the_line(end):
    first = tasks("node2", end)
    assert crashed("lots of other output\n" + first + KILLED) == {"node2": first.strip()}


def test_what_ended_as_a_consequence_names_nobody_else():
    assert list(crashed(tasks("node2", "Bus error") + tasks("node[1-3]", "Exited with exit code 143"))) == ["node2"]
    assert list(crashed(tasks("node[2-3]", "Bus error") + KILLED)) == ["node2", "node3"]


def test_a_library_that_cannot_be_loaded_is_told_with_the_node():
    said = crashed(f"{FIO}\n" + tasks("node3", "Exited with exit code 127") + KILLED)
    assert said == {"node3": f"srun: error: node3: task 1: Exited with exit code 127; {FIO}"}
    assert crashed(f"{FIO}\n" + tasks("node3", "Exited with exit code 15"))["node3"].endswith(FIO)


def test_a_program_that_srun_does_not_find_names_its_node():
    assert crashed(f"{EXECVE}\n" + tasks("node3", "Exited with exit code 2"))["node3"].endswith(EXECVE)
    assert crashed(tasks("node3", "Exited with exit code 2")) == {}


@pytest.mark.parametrize("end", ["Exited with exit code 1", "Killed", "Terminated", "Out Of Memory"])
def test_another_end_names_nobody_nor_does_what_crashes_after_it(end):
    assert crashed(tasks("node2", end)) == {}
    assert crashed(tasks("node2", end) + tasks("node3", "Aborted")) == {}


def test_a_crash_on_most_nodes_is_the_programs_fault():
    assert crashed(tasks("node[1-4]", "Segmentation fault")) == {}
    assert crashed(tasks("node2", "Segmentation fault") + KILLED + tasks("node[1-3]", "Segmentation fault")) == {}
    assert crashed(tasks("node1", "Segmentation fault"), nodes=["node1"]) == {}


def test_who_gives_up_because_the_other_end_is_gone_is_not_named():
    gone = "UCX ERROR Transport retry count exceeded on mlx5_0:1/IB\n"
    assert crashed(gone + tasks("node2", "Aborted")) == {}
    assert list(crashed(gone + tasks("node2", "Segmentation fault"))) == ["node2"]


def test_no_node_of_another_job_is_named_and_no_control_character_told():
    assert crashed(tasks("login", "Aborted")) == {}
    assert crashed(f"\x1b[1m{FIO}\n" + tasks("node2", "Exited with exit code 127"))["node2"].endswith(f"?[1m{FIO}")


def test_standard_error_is_what_the_script_writes_to_whatever_its_name(tmp_path):
    watch = importlib.import_module("watch_nodes")
    with open(tmp_path / "a name.err", "w") as file:
        script = subprocess.Popen(
            [sys.executable, "-c", "import sys; sys.stdin.read(); print('at the end', file=sys.stderr)"],
            stdin=subprocess.PIPE, stderr=file,
        )  # fmt: skip
    with watch.standard_error(script.pid) as said:
        script.communicate()
        assert watch.end_of(said) == "at the end\n"


def test_only_the_end_of_much_standard_error_is_read(tmp_path):
    watch = importlib.import_module("watch_nodes")
    path = pathlib.Path(tmp_path, "rfm_job.err")
    path.write_bytes(b"a" * (watch.MOST_BYTES + 7))
    with path.open("rb") as file:
        assert len(watch.end_of(file)) == watch.MOST_BYTES


def test_where_standard_error_is_no_file_nothing_is_read():
    watch = importlib.import_module("watch_nodes")
    script = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    with watch.standard_error(script.pid) as said, script:
        assert said.name == os.devnull
        assert watch.end_of(said) == ""
        script.communicate()
