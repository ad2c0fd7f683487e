import os

import pytest

from reframe_checks.parsers import core_programs


@pytest.fixture(scope="module")
def program(build):
    return build("affinity")


def test_every_thread_of_every_rank(program, tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.setenv("OMP_PROC_BIND", "false")
    program("--output=affinity.json", "--mib-per-thread=1", "--seconds=0.01", ranks=3, cwd=tmp_path)
    ranks = core_programs.affinity((tmp_path / "affinity.json").read_text(), expect_ranks=3)
    usable = tuple(sorted(os.sched_getaffinity(0)))
    assert [rank.node for rank in ranks] == ["node0", "node1", "node2"]
    assert {len(rank.threads) for rank in ranks} == {2}
    assert {rank.cpus for rank in ranks} == {thread.cpus for rank in ranks for thread in rank.threads} == {usable}
    assert all(sum(thread.pages.values()) == 64 for rank in ranks for thread in rank.threads)


def test_places_bind_threads(program, tmp_path, monkeypatch):
    core = min(os.sched_getaffinity(0))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("OMP_PLACES", f"{{{core}}}")
    monkeypatch.setenv("OMP_PROC_BIND", "close")
    program("--output=affinity.json", "--mib-per-thread=1", "--seconds=0.01", ranks=1, cwd=tmp_path)
    (rank,) = core_programs.affinity((tmp_path / "affinity.json").read_text(), expect_ranks=1)
    assert rank.cpus == rank.threads[0].cpus == rank.threads[0].ran_on == (core,)
