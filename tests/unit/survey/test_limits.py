"""Limits of jobs: shown limits, limits that are too small, and their remedy."""

import subprocess

import pytest

from kappa.app.survey.limits import too_small
from kappa.app.survey.probe import FACTS, parse
from kappa.node import packed
from tests.unit.survey.clusters import DATA, gpu, part_of, probe

ADAPTER = ("mlx5_0.1", "200 Gb/sec (4X HDR)")
GPU = gpu(0, "NVIDIA A100-SXM4-40GB", 40960, "8.0")
SOUND = {
    "limit.open_files": 131072, "limit.processes": 1027000, "limit.stack_bytes": 8 << 20, "limit.core_bytes": 0,
    "limit.address_space_bytes": "unlimited", "limit.shared_memory_kib": 131500000, "limit.group_memory_mib": None,
    "site.promised_memory_mib_per_cpu": None,
}  # fmt: skip
NODE_BYTES = 263000000 << 10


def found(limits, **more):
    return part_of(probe("NAME", facts={**SOUND, **limits}, **more))


def test_the_program_tells_every_limit_that_is_judged():
    command, given = packed.from_input("facts", *FACTS)
    said = subprocess.run(command, input=given, capture_output=True, text=True, check=True).stdout.splitlines()
    assert {*SOUND, "limit.locked_memory_bytes", "limit.stack_bytes_hard"} <= {line.partition(" ")[0] for line in said}


def test_limits_of_the_recorded_machine():
    limits = parse((DATA / "machine-probe.txt").read_text()).limits
    assert (limits["nofile"], limits["stack_kib"], limits["stack_kib_hard"]) == ("20000", "8192", "unlimited")
    assert limits["shm_kib"] == "24684084" and "group_memory_kib" not in limits


def test_a_hard_limit_is_kept_where_it_is_another():
    limits = found({"limit.open_files_hard": 131072, "limit.stack_bytes_hard": "unlimited"}).told.limits
    assert "nofile_hard" not in limits and limits["stack_kib_hard"] == "unlimited"
    assert "group_memory_kib" not in limits


def test_sound_limits_and_those_of_an_older_probe():
    assert too_small(found({})) == []
    assert too_small(part_of(probe("NAME"))) == []


@pytest.mark.parametrize(
    ("limit", "more", "key"),
    [
        ({"limit.open_files": 1024}, {}, "nofile"),
        ({"limit.processes": 400}, {}, "nproc"),
        ({"limit.stack_bytes": 4 << 20}, {}, "stack_kib"),
        ({"limit.address_space_bytes": NODE_BYTES // 2}, {}, "as_kib"),
        ({"limit.address_space_bytes": 4 * NODE_BYTES, **GPU}, {}, "as_kib"),
        ({"limit.address_space_bytes": 4 * NODE_BYTES}, {}, None),
        ({"limit.shared_memory_kib": 65536}, {}, "shm_kib"),
        ({"limit.group_memory_mib": 4096}, {}, "group_memory_kib"),
        ({"limit.group_memory_mib": (NODE_BYTES * 9 // 10) >> 20}, {}, None),
    ],
)
def test_what_is_too_small(limit, more, key):
    assert [one.key for one in too_small(found(limit, **more))] == [key] * bool(key)


def test_locked_memory_is_judged_where_adapters_need_it():
    assert too_small(found({"limit.locked_memory_bytes": 8 << 20})) == []
    [one] = too_small(found({"limit.locked_memory_bytes": 8 << 20}, adapters=[ADAPTER]))
    assert (one.key, one.has, one.wants) == ("memlock", "8192 KiB", "unlimited")


@pytest.mark.parametrize(("mib_per_cpu", "judged"), [(4000, []), (1000, ["group_memory_kib"])])
def test_memory_for_each_cpu_is_that_of_a_whole_node_for_checks(mib_per_cpu, judged):
    limits = {"site.promised_memory_mib_per_cpu": str(mib_per_cpu), "limit.group_memory_mib": mib_per_cpu}
    assert [one.key for one in too_small(found(limits))] == judged


@pytest.mark.parametrize(
    ("hard", "words"), [(524288, "`prepare_cmds: [ulimit -Sn 4096]`"), (1024, "`LimitNOFILE=4096` in slurmd's")]
)
def test_the_remedy_is_the_users_where_the_hard_limit_allows_it(hard, words):
    [one] = too_small(found({"limit.open_files": 1024, "limit.open_files_hard": hard}))
    assert one.remedy.startswith(words)
