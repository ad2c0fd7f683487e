"""``kappa-node semantics``: tasks on one machine stand for nodes; a node with a fault is one that runs otherwise."""

import json
import os
import pathlib
import socket
import subprocess
import sys

import pytest

from kappa.node import semantics as semantics_module
from reframe_checks.storage.shared_semantics import node_in_all

NODES = ["n1", "n2", "n3"]
START = "import sys; sys.path.insert(0, sys.argv.pop(1)); from kappa.node.command import main; sys.exit(main())"
NO_LOCKS = pathlib.Path(__file__).parents[2] / "fault_campaign/src/no_locks.c"


@pytest.fixture
def semantics(tmp_path):
    """semantics(faults={node: words before the command}, …): the record of a step on a new folder."""

    def run(faults=None, path=None, nodes=NODES, limit_s=1):
        target = path or tmp_path / "target"
        target.mkdir(exist_ok=True)
        tasks = [
            subprocess.Popen(
                [
                    *(faults or {}).get(node, []), sys.executable, "-I", "-c",
                    START, pathlib.Path.cwd(), "semantics", target, f"--limit={limit_s}", "--wait=20",
                ],
                cwd=tmp_path, stdout=subprocess.PIPE, text=True,
                env={
                    "PATH": os.environ["PATH"], "SLURM_STEP_ID": "0", "SLURM_PROCID": str(number),
                    "SLURM_STEP_NUM_TASKS": str(len(nodes)), "SLURMD_NODENAME": node,
                },
            )
            for number, node in enumerate(nodes)
        ]  # fmt: skip
        outputs = [task.communicate(timeout=120)[0] for task in tasks]
        assert [task.returncode for task in tasks] == [0] * len(nodes)
        return json.loads(outputs[0].rpartition(" ")[0])

    return run


def failing(record):
    return {test: {tuple(sorted({node, other})) for node, other, _ in failures}
            for test, failures in record["failures"].items() if failures}  # fmt: skip


def blamed(record):
    return node_in_all([one for failures in record["failures"].values() for one in failures], record["nodes"])


def test_a_local_folder_keeps_all_promises(semantics):
    record = semantics()
    assert record["nodes"] == NODES
    assert failing(record) == {}
    assert len(record["failures"]) == 7


def test_a_node_whose_locks_exclude_nobody(semantics, tmp_path):
    library = tmp_path / "locks.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, NO_LOCKS], check=True)
    record = semantics({"n2": ["env", f"LD_PRELOAD={library}"]})
    assert failing(record).keys() == {"flock", "fcntl"}
    assert blamed(record) == "n2"


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts")
def test_a_node_that_sees_an_old_copy(semantics, tmp_path):
    target, copy = tmp_path / "target", tmp_path / "copy"
    target.mkdir()
    copy.mkdir()
    mount = ["unshare", "--mount", "sh", "-c", 'mount --bind "$1" "$2" && shift 2 && exec "$@"', "sh", copy, target]
    record = semantics({"n3": mount}, path=target)
    assert failing(record).keys() >= {"visible", "flock", "append"}
    assert blamed(record) == "n3"


def test_a_node_that_answers_no_more_is_named(monkeypatch):
    monkeypatch.setattr(semantics_module, "PATIENCE_S", 0)
    ours, theirs = zip(*(socket.socketpair() for _ in NODES), strict=True)
    for connection in ours:
        connection.settimeout(0.2)
    leader = semantics_module.Leader(dict(zip(NODES, ours, strict=True)), 0.1)
    leader.run()
    assert leader.failures["visible"] == [["n1", "n1", "write: no answer in 0.1 s"]]
    assert len(leader.failures) == 7 and theirs


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts")
def test_a_full_folder(semantics, tmp_path):
    target = tmp_path / "full"
    target.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "full", target], check=True)
    try:
        (target / "filling").write_bytes(bytes(4096))
        record = semantics(path=target)
    finally:
        subprocess.run(["umount", target], check=True)
    assert "No space left on device" in str(record["failures"]["visible"])
    assert blamed(record) == ""
