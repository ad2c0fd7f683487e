"""Snapshots of a node before and after a step, and the load by other programs between them."""

import functools
import hashlib
import os
import pathlib
import subprocess

import pytest

from kappa.core.record.evidence import LoadByOthers
from reframe_checks.base.shared_machine import why_robbed
from reframe_checks.base.watch import SCRIPT
from reframe_checks.parsers.job_scripts import snapshots, taken_of_machine
from reframe_checks.parsers.text import ParseError


def line(at_s, busy_s, own_s, steal_s=0.0, disk_bytes=0, own_bytes=0, cores=2, look=1):
    said = (
        f"look={look} at_s={at_s:.2f} cores={cores} busy_s={busy_s:.2f} steal_s={steal_s:.2f} own_s={own_s:.3f} "
        f"disk_bytes={disk_bytes} own_bytes={own_bytes}"
    )
    digest = hashlib.sha256(f"{said}\n".encode()).hexdigest()
    return f"{said} sha256={digest[:16]}\n"


second = functools.partial(line, look=2)


def test_what_is_not_the_jobs_own_is_the_others():
    looks = snapshots(line(100, 50, 5) + second(110, 68, 20, steal_s=1, disk_bytes=9 * 10**8, own_bytes=10**8))
    taken = taken_of_machine({"node1": looks})
    assert taken == LoadByOthers(cores=pytest.approx(0.3 + 0.1), of_cores=2, steal_cores=0.1, disk_mb_per_s=80)


def test_steps_of_a_job_are_read_in_order_of_time():
    assert [each.at_s for each in snapshots(line(110, 2, 0) + second(100, 1, 0))] == [100, 110]


def test_nodes_that_share_a_machine_use_it_together():
    # 20 busy seconds in 10: 6 + 4 + 3 are the three nodes', so 7 are the others'.
    nodes = {
        "node1": snapshots(line(100, 50, 1) + second(109, 68, 7)),
        "node2": snapshots(line(101, 52, 2) + second(110, 70, 6)),
        "node3": snapshots(line(101, 52, 0) + second(108, 66, 3)),
    }
    assert taken_of_machine(nodes).cores == pytest.approx(0.7)
    alone = {node: taken_of_machine({node: looks}).cores for node, looks in nodes.items()}
    assert all(cores > 1 for cores in alone.values())  # each node takes the others' use for a stranger's


def test_a_node_that_may_use_fewer_cores_counts_fewer_busy_seconds():
    nodes = {
        "node1": snapshots(line(100, 20, 1, cores=1) + second(111, 24, 4, cores=1)),
        "node2": snapshots(line(101, 52, 2) + second(110, 70, 6)),
    }
    taken = taken_of_machine(nodes)
    assert (taken.cores, taken.of_cores) == (pytest.approx((18 - 3 - 4) / 9), 2)


def test_one_look_says_nothing():
    assert taken_of_machine({"node1": snapshots(line(100, 50, 5))}) is None
    assert taken_of_machine({}) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "output, found none"),
        (line(1, 1, 1)[:-5] + "\n", "line 1: expected look=…, at_s=…"),
        (line(1, 1, 1)[:-1], "cut off"),
        (line(1, 1, 1).replace("own_s=1.000", "own_s=-1"), "line 1: expected look=…"),
        (line(1, 1, 1).replace("busy_s=1.00", "busy_s=2.00"), "its SHA-256 is another"),
        (second(1, 1, 1), "line 1: expected look 1"),
        (line(1, 1, 1) + second(2, 1, 1, cores=0), "line 2: expected look 2 of the node, and at least one core"),
    ],
    ids=["empty", "cut line", "cut file", "negative", "changed", "one missing", "no core"],
)
def test_anything_else_is_an_error(text, message):
    with pytest.raises(ParseError, match=message):
        snapshots(text)


LIMITS = {"cores_share": 0.15, "disk_mb_per_s": 20}


@pytest.mark.parametrize(
    ("cores", "disk_mb_per_s", "robbed"),
    [
        (0.29, 19, ""),
        (0.5, 0, "others used 0.5 of 2 cores (limit 0.3) while it was measured"),
        (0.1, 400, "others used 400 MB/s of the disk (limit 20) while it was measured"),
        (1.5, 80, "others used 1.5 of 2 cores (limit 0.3) and 80 MB/s of the disk (limit 20) while it was measured"),
    ],
)
def test_above_a_limit_a_measurement_was_robbed(cores, disk_mb_per_s, robbed):
    taken = LoadByOthers(cores=cores, of_cores=2, steal_cores=0, disk_mb_per_s=disk_mb_per_s)
    assert why_robbed(taken, **LIMITS) == robbed


def watch(folder: pathlib.Path, **environment: str) -> None:
    script = folder / SCRIPT.name
    script.write_bytes(SCRIPT.read_bytes())
    script.chmod(0o755)
    subprocess.run([script], env={**os.environ, "SLURM_JOB_ID": "7", **environment}, check=True)


def test_the_script_writes_what_is_parsed(tmp_path):
    watch(tmp_path)
    watch(tmp_path)
    [node] = (tmp_path / "load_watch").iterdir()
    first, last = snapshots(node.read_text())
    assert first.cores == len(os.sched_getaffinity(1))
    assert first.at_s <= last.at_s and first.busy_s <= last.busy_s and first.disk_bytes <= last.disk_bytes
    assert first.own_s > 0 and first.busy_s > 0


def test_one_task_of_a_node_looks(tmp_path):
    watch(tmp_path, SLURM_LOCALID="1")
    assert not (tmp_path / "load_watch").exists()
