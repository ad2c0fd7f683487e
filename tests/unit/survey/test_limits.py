"""Limits of jobs: which are shown, which are too small, and with which remedy."""

import subprocess

import pytest

from kappa.app.survey.limits import too_small
from kappa.app.survey.probe import parse, script
from tests.unit.survey.clusters import DATA, part_of, probe, with_sections

ADAPTER = "mlx5_0:1|4: ACTIVE|200 Gb/sec (4X HDR)|InfiniBand"
GPU = "0, NVIDIA A100-SXM4-40GB, 40960, 8.0, Disabled"
SOUND = [
    "nofile=131072", "nproc=1027000", "stack_kib=8192", "core_kib=0", "as_kib=unlimited", "shm_kib=131500000",
    "group_memory_kib=", "slurm_mib_per_cpu=",
]  # fmt: skip
NODE_KIB = 263000000


def found(*limits, memlock="unlimited", **more):
    text = probe("NAME", **more).replace("memlock=unlimited", f"memlock={memlock}")
    return part_of(with_sections(text, limits=[*SOUND, *limits]))


def test_the_script_tells_every_limit_that_is_judged():
    section = script().partition("section limits\n")[2].partition("\nsection ")[0]
    said = subprocess.run(["bash", "-c", section], capture_output=True, text=True, check=True).stdout.splitlines()
    assert {line.partition("=")[0] for line in [*SOUND, "memlock="]} <= {line.partition("=")[0] for line in said}


def test_limits_of_the_recorded_machine():
    limits = parse((DATA / "machine-probe.txt").read_text()).limits
    assert (limits["nofile"], limits["stack_kib"], limits["stack_kib_hard"]) == ("20000", "8192", "unlimited")
    assert (limits["shm_kib"], limits["group_memory_kib"]) == ("24684084", "")


def test_a_hard_limit_is_kept_where_it_is_another():
    limits = found("nofile_hard=131072", "stack_kib_hard=unlimited").told.limits
    assert "nofile_hard" not in limits and limits["stack_kib_hard"] == "unlimited"
    assert "group_memory_kib" not in limits


def test_sound_limits_and_those_of_an_older_probe():
    assert too_small(found()) == []
    assert too_small(part_of(probe("NAME"))) == []


@pytest.mark.parametrize(
    ("limit", "more", "key"),
    [
        ("nofile=1024", {}, "nofile"),
        ("nproc=400", {}, "nproc"),
        ("stack_kib=4096", {}, "stack_kib"),
        (f"as_kib={NODE_KIB // 2}", {}, "as_kib"),
        (f"as_kib={4 * NODE_KIB}", {"gpus": [GPU]}, "as_kib"),
        (f"as_kib={4 * NODE_KIB}", {}, None),
        ("shm_kib=65536", {}, "shm_kib"),
        ("group_memory_kib=4194304", {}, "group_memory_kib"),
        (f"group_memory_kib={NODE_KIB * 9 // 10}", {}, None),
    ],
)
def test_what_is_too_small(limit, more, key):
    assert [one.key for one in too_small(found(limit, **more))] == [key] * bool(key)


def test_locked_memory_is_judged_where_adapters_need_it():
    assert too_small(found(memlock="8192")) == []
    [one] = too_small(found(memlock="8192", adapters=[ADAPTER]))
    assert (one.key, one.has, one.wants) == ("memlock", "8192 KiB", "unlimited")


@pytest.mark.parametrize(("mib_per_cpu", "judged"), [(4000, []), (1000, ["group_memory_kib"])])
def test_memory_for_each_cpu_is_that_of_a_whole_node_for_checks(mib_per_cpu, judged):
    limits = f"slurm_mib_per_cpu={mib_per_cpu}", f"group_memory_kib={mib_per_cpu * 1024}"
    assert [one.key for one in too_small(found(*limits))] == judged


@pytest.mark.parametrize(
    ("hard", "words"), [("524288", "`prepare_cmds: [ulimit -Sn 4096]`"), ("1024", "`LimitNOFILE=4096` in slurmd's")]
)
def test_the_remedy_is_the_users_where_the_hard_limit_allows_it(hard, words):
    [one] = too_small(found("nofile=1024", f"nofile_hard={hard}"))
    assert one.remedy.startswith(words)
