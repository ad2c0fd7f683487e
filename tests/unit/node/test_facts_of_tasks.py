"""Facts of a task's inheritance and environment, and of the disks below a node's folders."""

import json
import os
import subprocess
import sys

import pytest

from kappa.core.ground.folders import SUITE
from kappa.node.facts import disks, environment


@pytest.fixture
def disk(tmp_path, monkeypatch):
    """Write {path below sysfs: text}; a function of (MAJOR:MINOR, source) returns the reported facts."""
    monkeypatch.setattr(disks, "DEVICES", str(tmp_path / "dev"))
    monkeypatch.setattr(disks, "BACKING", str(tmp_path / "bdi"))

    def written(files, links):
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(f"{text}\n")
        for name, to in links.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).symlink_to(tmp_path / to)
        return disks.settings

    return written


def test_a_partition_has_the_queue_of_its_disk(disk):
    settings = disk(
        {"block/sda/queue/scheduler": "none [mq-deadline] kyber", "block/sda/sda1/partition": "1",
         "block/sda/device/queue_depth": "32", "bdi/8:1/read_ahead_kb": "128"},
        {"dev/8:1": "block/sda/sda1"},
    )  # fmt: skip
    assert settings("8:1", "/dev/sda1") == {
        "scheduler": "mq-deadline", "device_queue_depth": "32", "read_ahead_kb": "128",
    }  # fmt: skip


def test_a_volume_has_those_of_all_its_disks(disk):
    settings = disk(
        {"block/dm-0/queue/write_cache": "write back", "block/sda/queue/write_cache": "write through",
         "block/sdb/queue/write_cache": "write back"},
        {"dev/253:0": "block/dm-0", "block/dm-0/slaves/sda": "block/sda", "block/dm-0/slaves/sdb": "block/sdb"},
    )  # fmt: skip
    assert settings("253:0", "/dev/mapper/root") == {"write_cache": "write back,write through"}


def test_a_network_file_system_has_read_ahead_alone(disk):
    assert disk({"bdi/0:53/read_ahead_kb": "0"}, {})("0:53", "nas:/home") == {"read_ahead_kb": "0"}


INHERITED = """
import ctypes, json, os, sys
PR_SET_TIMERSLACK, PR_SET_NO_NEW_PRIVS, PR_SET_THP_DISABLE = 29, 38, 41
libc = ctypes.CDLL(None)
libc.prctl(PR_SET_TIMERSLACK, 70000, 0, 0, 0)
libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
libc.prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)
os.nice(5)
os.umask(0o27)
os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
sys.path.insert(0, sys.argv[1])
from kappa.node.facts import task
print(json.dumps(task.facts()))
"""


def test_what_a_task_inherits():
    done = subprocess.run([sys.executable, "-c", INHERITED, str(SUITE)], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    named = ("nice", "scheduling", "timer_slack_ns", "no_new_privileges", "umask", "huge_pages_allowed")
    told = {name: found["task." + name] for name in named}
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    assert told == {
        "nice": min(usual + 5, 19), "scheduling": "batch", "timer_slack_ns": "70000", "no_new_privileges": "1",
        "umask": "0027", "huge_pages_allowed": "0",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("OMP_NUM_THREADS", "1", {"setting.OMP_NUM_THREADS": "1"}),
        ("UCX_LOG_FILE", "/log/n7.txt, n77", {"setting.UCX_LOG_FILE": "/log/NODE.txt, n77"}),
        ("OMPI_MCA_btl_tcp_sndbuf", "4096", {"setting.OMPI_MCA_btl_tcp_sndbuf": "4096"}),
        ("OMPI_MCA_ess_base_vpid", "3", {}),
        ("SLURM_PROCID", "3", {}),
        ("CUDA_VISIBLE_DEVICES", "GPU-1", {}),
        ("LD_AUDIT_TOKEN", "abc", {"setting.LD_AUDIT_TOKEN": "hidden"}),
        ("CONDA_CHANNEL", "https://eve:abc@host/x", {"setting.CONDA_CHANNEL": "hidden"}),
        ("ANYTHING", "abc", {"variable.ANYTHING": "set"}),
        ("BASH_FUNC_module%%", "() { :; }", {}),
    ],
)
def test_variables(monkeypatch, name, value, told):
    monkeypatch.setattr(environment.os, "environ", {"SLURMD_NODENAME": "n7", name: value})
    monkeypatch.setattr(environment.socket, "gethostname", lambda: "n7.cluster")
    found = environment.facts()
    assert found.pop("setting.PATH") == ""
    assert {fact: of for fact, of in found.items() if fact.startswith(("setting.", "variable."))} == told


def test_long_values_differ_by_their_ends(monkeypatch):
    first, second = (environment.shown("LD_LIBRARY_PATH", "/a:" * 100 + end) for end in ("x", "y"))
    assert first != second and len(first) < 300


def test_libraries_that_the_node_adds_to_every_program(monkeypatch, tmp_path):
    monkeypatch.setattr(environment, "PRELOAD", str(tmp_path / "ld.so.preload"))
    assert environment.facts()["preloaded"] is None
    (tmp_path / "ld.so.preload").write_text("/lib/a.so\n/lib/b.so\n")
    assert environment.facts()["preloaded"] == "/lib/a.so /lib/b.so"


def test_the_program_that_comes_first(on_path):
    python = on_path("python3", "#!/bin/sh\nexec /usr/bin/python3 \"$@\"\n")
    found = environment.facts()
    assert found["program.python3"] == str(python)
    assert found["setting.PATH"].startswith(f"{python.parent}:")
    # The wrapper starts another interpreter than the one that reads the facts.
    assert found["interpreter"].startswith(os.path.realpath("/usr/bin/python3"))
