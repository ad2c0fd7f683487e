import os

import pytest

from reframe_checks.parsers import core_programs

RESULT = "node.json"
SHORT = [f"--output={RESULT}", "--mib-per-core=1", "--seconds=0.01"]


@pytest.fixture(scope="module")
def program(build):
    return build("node")


@pytest.mark.parametrize("at_once", [0, 1, 2])
def test_every_core_of_every_node(program, tmp_path, at_once):
    program("cores", *SHORT, f"--at-once={at_once}", ranks=3, cwd=tmp_path)
    sweep = core_programs.node_sweep((tmp_path / RESULT).read_text())
    assert list(sweep) == ["node0", "node1", "node2"]
    assert all(speeds.cores == tuple(sorted(os.sched_getaffinity(0))) for speeds in sweep.values())
    assert all(speeds.wrong == () for speeds in sweep.values())


def test_cores_of_every_node_while_others_rest(program, tmp_path):
    program("fills", *SHORT, ranks=2, cwd=tmp_path)
    nodes = core_programs.node_fills((tmp_path / RESULT).read_text())
    cores = len(os.sched_getaffinity(0))
    assert list(nodes) == ["node0", "node1"]
    assert all(set(fills.spread) == {cores, cores // 2, cores // 4, 1} - {0} for fills in nodes.values())


def test_domains_of_every_node(program, tmp_path):
    program("numa", *SHORT, "--latency-mib=1", ranks=2, cwd=tmp_path)
    nodes = core_programs.node_numa((tmp_path / RESULT).read_text())
    assert list(nodes) == ["node0", "node1"]
    assert all(one.correct for paths in nodes.values() for one in paths.values())


def test_two_ranks_on_a_node_are_refused(program, tmp_path):
    done = program("cores", *SHORT, ranks=2, ranks_per_node=2, cwd=tmp_path, ok=False)
    assert done.returncode != 0
    assert "node0 has several ranks" in done.stderr
    assert not list(tmp_path.iterdir())
