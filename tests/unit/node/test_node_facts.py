"""Facts of nodes from kernels' texts: trees of /sys and /proc, also incomplete ones."""

import errno
import os
import pathlib
import pwd
import socket
import time
import types
from collections import Counter

import pytest

from kappa.core.ground.node_lists import expand_nodes
from kappa.node import files as kernel_files
from kappa.node import table
from kappa.node.command import QUESTIONS
from kappa.node.facts import devices, errors, identity, kernel, leftovers, limits, links, mounts, names, power, tcp
from kappa.node.table import collected, fact_of, known_fact
from tests.waiting import until


@pytest.fixture
def tree(tmp_path):
    """Writes {path: text} and returns their folder."""

    def written(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\n")
        return tmp_path

    return written


def test_every_fact_of_this_machine_has_its_row():
    questions = {
        "mounts": ["/", "/nowhere"], "files": ["/bin/sh", "/nowhere"], "users": ["root"], "programs": ["sh", "env"],
        "modules": ["no-such-module"], "to_build": ["stdio.h"],
    }  # fmt: skip
    assert questions.keys() == QUESTIONS.keys()
    facts = collected(["*"], questions)
    assert len(facts) > 100
    assert not [name for name in facts if fact_of(name) is None]
    assert not [name for name in facts if name.startswith("failed.")]


def test_errors_of_an_infiniband_port_are_added_up(tree, monkeypatch):
    counters = {"link_downed": "3", "symbol_error": "7", "port_rcv_errors": "5"}
    folder = tree({f"mlx5_0/ports/1/counters/{name}": count for name, count in counters.items()})
    monkeypatch.setattr(links, "INFINIBAND", str(folder))
    facts = links.facts()
    assert (facts["ib.mlx5_0.1.links_lost"], facts["ib.mlx5_0.1.errors"]) == (3, 12)


def test_pcie(tree, monkeypatch):
    of = {"0000:21:00.0": ("0x020700", "8"), "0000:81:00.0": ("0x030200", "16"), "0000:00:01.0": ("0x060400", "16")}
    files = {
        f"{address}/{name}": text
        for address, (code, width) in of.items()
        for name, text in (("class", code), ("current_link_width", width), ("max_link_width", "16"))
    }
    folder = tree(files | {f"{address}/current_link_speed": "2.5 GT/s PCIe" for address in of})
    monkeypatch.setattr(devices, "PCI", str(folder))
    facts = devices.facts()
    assert (facts["pcie.network.0000:21:00.0.width"], facts["pcie.network.0000:21:00.0.widest"]) == (8, 16)
    assert facts["pcie.network.0000:21:00.0.speed"] == "2.5 GT/s PCIe"
    assert facts["pcie.gpu.0000:81:00.0.width"] == 16
    assert "pcie.gpu.0000:81:00.0.speed" not in facts, "an idle GPU slows its link down"
    assert not [name for name in facts if "00:01.0" in name]


@pytest.mark.parametrize(
    ("command_line", "alike"),
    [
        (
            "BOOT_IMAGE=(hd0,gpt2)/vmlinuz-5.14 root=UUID=a1-b2 ro resume=/dev/sda3 crashkernel=1G-4G:192M quiet",
            "ro crashkernel=1G-4G:192M quiet",
        ),
        (
            "initrd=img-n1.cpio ip=10.0.0.7::10.0.0.1 BOOTIF=01-0c-c4-7a-00-11-22 hostname=n1 wwinit=n1.cluster nosmt",
            "nosmt",
        ),
        ("rd.luks.uuid=luks-0ab1 id=0ab1c2d3-0000-1111-2222-0123456789ab iommu=pt node=n11", "iommu=pt node=n11"),
        ("root=/dev/sda1 mitigations=off transparent_hugepage=never", "mitigations=off transparent_hugepage=never"),
        (None, None),
    ],
)
def test_options_of_the_kernel_without_what_is_a_nodes_own(monkeypatch, command_line, alike):
    monkeypatch.setattr(kernel.socket, "gethostname", lambda: "n1.cluster")
    assert kernel.options_alike(command_line) == alike


def test_memory_errors(tree, monkeypatch):
    folder = tree({"mc0/ce_count": "4", "mc0/ue_count": "0", "mc1/ce_count": "5", "mc1/ue_count": "1", "power/x": "9"})
    monkeypatch.setattr(errors, "EDAC", str(folder))
    facts = errors.facts()
    assert (facts["error.memory_corrected"], facts["error.memory_uncorrected"]) == (9, 1)


@pytest.mark.parametrize(("range_uj", "power_w"), [("262143328850", 290), (None, None)])
def test_throttling_and_power(tree, monkeypatch, range_uj, power_w):
    # Two threads of each core, which tell the same.
    counts = {f"cpu{cpu}/thermal_throttle/core_throttle_count": str(1 + cpu % 2) for cpu in range(4)}
    cores = {f"cpu{cpu}/topology/{part}_id": str(cpu % 2 if part == "core" else 0)
             for cpu in range(4) for part in ("physical_package", "core")}  # fmt: skip
    zones = {"intel-rapl:0": "package-0", "intel-rapl:1": "package-1", "intel-rapl:0:0": "core", "intel-rapl:2": "psys"}
    names = {f"{zone}/name": name for zone, name in zones.items()}
    # In 0.1 s one package uses 14 J; the other uses 15 J, and its counter wraps. psys and core count for nothing.
    before = {"intel-rapl:0": 262_138_328_850, "intel-rapl:1": 1_000_000, "intel-rapl:0:0": 0, "intel-rapl:2": 0}
    after = {"intel-rapl:0": 10_000_000, "intel-rapl:1": 15_000_000, "intel-rapl:0:0": 5, "intel-rapl:2": 10**9}
    energies = {f"{zone}/energy_uj": value for zone, value in before.items()}
    ranges = {f"{zone}/max_energy_range_uj": range_uj for zone in zones} if range_uj else {}
    now_s = iter([7.0, 7.1])
    folder = tree({**counts, **cores, **names, **energies, **ranges})
    monkeypatch.setattr(power, "CPUS", str(folder))
    monkeypatch.setattr(power, "POWERCAP", str(folder))
    move = lambda _: tree({f"{zone}/energy_uj": value for zone, value in after.items()})  # noqa: E731
    monkeypatch.setattr(power, "time", types.SimpleNamespace(monotonic=lambda: next(now_s), sleep=move))
    assert power.facts() == {
        "power.cores_throttled": 3, "power.packages_throttled": None, "power.package_w": power_w,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "files", "mib"),
    [
        ("0::/slurm/job_7/step_0", {"slurm/job_7/memory.max": "4194304000", "slurm/memory.max": "max"}, 4000),
        ("9:memory:/slurm/job_7", {"memory/slurm/job_7/memory.limit_in_bytes": "1048576000"}, 1000),
        ("9:memory:/", {"memory/memory.limit_in_bytes": "9223372036854771712"}, None),
        ("1:name=systemd:/", {}, None),
    ],
)
def test_memory_of_the_control_group(tree, monkeypatch, lines, files, mib):
    monkeypatch.setattr(limits, "GROUPS", str(tree(files)))
    monkeypatch.setattr(limits, "read", lambda *path: lines if path[0] == "/proc/self/cgroup" else READ(*path))
    READ = kernel_files.read
    assert limits.group_memory_mib() == mib


@pytest.mark.parametrize(
    ("promise", "mib"),
    [
        ({"SLURM_MEM_PER_NODE": "4000"}, 4000),
        ({"SLURM_MEM_PER_CPU": "2000", "SLURM_CPUS_ON_NODE": "64"}, 128000),
        ({"SLURM_MEM_PER_CPU": "2000"}, None),
        ({"SLURM_CPUS_ON_NODE": "64"}, None),
        ({}, None),
    ],
)
def test_memory_that_slurm_promises(monkeypatch, promise, mib):
    for name in ("SLURM_MEM_PER_NODE", "SLURM_MEM_PER_CPU", "SLURM_CPUS_ON_NODE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in promise.items():
        monkeypatch.setenv(name, value)
    assert limits.facts()["limit.promised_memory_mib"] == mib


@pytest.mark.parametrize(
    ("listed", "nodes"),
    [
        ("", []),
        ("n1", ["n1"]),
        ("n[1-3,7],login", ["n1", "n2", "n3", "n7", "login"]),
        ("r[1-2]c[08-10]", ["r1c08", "r1c09", "r1c10", "r2c08", "r2c09", "r2c10"]),
        ("a-b[9-11]x,c[1,3]", ["a-b9x", "a-b10x", "a-b11x", "c1", "c3"]),
    ],
)
def test_nodes_of_slurms_list(listed, nodes, monkeypatch):
    monkeypatch.setenv("SLURM_STEP_NODELIST", listed)
    monkeypatch.delenv("SLURM_JOB_NODELIST", raising=False)
    assert names.nodes_of_job() == nodes
    assert nodes == (expand_nodes(listed) if listed else [])


@pytest.mark.parametrize(("took_s", "told_ms"), [((0, 5, 0.001), 1), ((0, 5, 4), 4000), ((), 0)])
def test_one_slow_lookup_is_no_slow_resolver(monkeypatch, took_s, told_ms):
    clock = iter([time for one in took_s for time in (0.0, one)])
    monkeypatch.setattr(names, "nodes_of_job", lambda: ["localhost"] * len(took_s))
    monkeypatch.setattr(names.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(names, "address", lambda name: None)
    assert dict(names.hosts())["lookup.median_ms"] == told_ms


@pytest.mark.parametrize(("nodes", "each"), [(1, 1), (64, 64), (65, 64), (500, 64)])
def test_of_many_nodes_each_looks_some_up_and_each_is_looked_up_by_as_many(nodes, each):
    listed = [f"n{number}" for number in range(nodes)]
    looked_up = Counter(name for own in listed for name in set(names.asked(own, listed)))
    assert set(looked_up.values()) == {each}


def at(path):
    [facts] = mounts.at([str(path)]).values()
    return facts


def test_a_file_system_that_does_not_answer(monkeypatch):
    monkeypatch.setattr(mounts, "ANSWER_SECONDS", 0.05)
    monkeypatch.setattr(mounts.os, "statvfs", lambda path: time.sleep(60))
    found = at("/proc")
    assert (found["type"], found["answers"], found["size_bytes"], found["writable"]) == ("proc", False, None, None)


def test_a_file_system_that_its_server_has_forgotten(monkeypatch):
    def stale(path):
        raise OSError(errno.ESTALE, "Stale file handle")

    assert at("/proc")["answers"] is True
    assert at("/nowhere")["answers"] is None
    monkeypatch.setattr(mounts.os, "statvfs", stale)
    assert (at("/proc/self")["type"], at("/proc/self")["answers"]) == ("proc", False)


def test_who_may_write_and_how_many_files_fit(tmp_path):
    tmp_path.chmod(0o750)
    found = at(str(tmp_path))
    assert found["permissions"] == f"drwxr-x--- {os.getuid()}:{os.getgid()}"
    assert found["free_inode_share"] is None or 0 < found["free_inode_share"] <= 1


def test_mounts(monkeypatch):
    table = (
        "30 1 8:1 / /mnt/a\\040b rw,noatime shared:1 - nfs4 srv:/a rw,vers=4.2,clientaddr=10.0.0.7\n"
        "31 1 8:2 /var/x /scratch rw - ext4 /dev/sda1 rw\n"
        "32 1 0:9 / /scratch rw,nosuid - tmpfs tmpfs rw,size=1g\n"
    )
    monkeypatch.setattr(mounts, "read", lambda path: table)
    found = mounts.mounted()
    assert found["/mnt/a b"] == {"type": "nfs4", "source": "srv:/a", "root": "/", "options": "noatime,rw,vers=4.2",
                                 "device": "8:1"}  # fmt: skip
    assert found["/scratch"]["type"] == "tmpfs", "the last mount hides those before"
    assert dict(mounts.listed())["site.mounts"] == [
        ["8:1", "/", "/mnt/a b", "nfs4", "srv:/a"],
        ["8:2", "/var/x", "/scratch", "ext4", "/dev/sda1"],
        ["0:9", "/", "/scratch", "tmpfs", "tmpfs"],
    ]


def test_a_target_is_a_folder_below_what_is_mounted(tree, monkeypatch):
    folder = tree({"lustre/home/kappa/file": "", "scratch/file": ""})
    table = (
        f"1 0 8:1 / / rw - ext4 /dev/sda1 rw\n9 1 0:9 /fs {folder}/lustre rw - lustre 10.0.0.1@o2ib:/fs rw,flock\n"
        f"8 1 0:8 / {folder}/lus rw - tmpfs tmpfs rw\n"
    )
    monkeypatch.setattr(mounts, "read", lambda path: table)
    found = at(f"{folder}/lustre/home/kappa")
    assert (found["type"], found["root"], found["point"]) == ("lustre", "/fs", f"{folder}/lustre")
    assert found["size_bytes"] > 0 and found["writable"] is True
    (folder / "link").symlink_to("lustre/home")
    assert at(f"{folder}/link/kappa")["point"] == f"{folder}/lustre"
    # A fact of the root disk, where other nodes mount a file system: the fact says so.
    assert (at(f"{folder}/scratch")["type"], at(f"{folder}/scratch")["point"]) == ("ext4", "/")
    assert set(at(f"{folder}/lustre/gone").values()) == {None}, "there is none"
    assert set(at(f"{folder}/scratch/file/below").values()) == {None}


def test_what_comes_over_the_network(monkeypatch):
    table = (
        "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
        "2 1 0:30 / /home rw,nosuid - nfs4 nas2:/home rw,vers=4.2,addr=10.0.0.9,clientaddr=10.0.0.7\n"
        "3 1 0:31 / /opt ro - nfs nas:/opt ro,mountaddr=10.0.0.9,mountport=20048\n"
        "4 1 0:32 / /lustre rw - lustre 10.0.0.1@o2ib:/fs rw\n"
        "5 1 0:33 / /users rw - autofs auto.users rw,fd=7\n"
        "6 5 0:34 / /users/eve rw - nfs4 nas:/users/eve rw\n"
        "7 1 0:35 / /sw rw - autofs systemd-1 rw,fd=9\n"
        "8 7 0:36 / /sw rw - nfs4 nas:/sw rw\n"
        "9 1 0:37 / /run/user/1007/doc rw - fuse.portal portal rw\n"
        "10 1 0:38 / /scratch rw - tmpfs tmpfs rw\n"
    )
    monkeypatch.setattr(mounts, "read", lambda path: table)
    assert mounts.network_mounts(mounts.table(), {"/lustre"}) == {
        "network_mount./home": "nfs4 nas#:/home nosuid,rw,vers=4.2",
        "network_mount./opt": "nfs nas:/opt ro",
        "network_mount./sw": "autofs",
        "network_mount./users": "autofs",
    }
    monkeypatch.setattr(mounts, "MOST_NETWORK_MOUNTS", 1)
    assert mounts.network_mounts(mounts.table(), {"/lustre"}) == {
        "network_mount./home": "nfs4 nas#:/home nosuid,rw,vers=4.2",
        "network_mounts.more": 3,
    }


def test_a_process_that_was_always_busy(monkeypatch):
    left = leftovers
    ages, used = {10: 100, 11: 100, 12: 3, 13: 100, 14: 100}, {10: 90, 11: 20, 12: 3, 13: 90, 14: 90}
    monkeypatch.setattr(left, "age_s", ages.__getitem__)
    monkeypatch.setattr(left, "used_s", used.__getitem__)
    one = {"name": "loop", "kib": 1000, "job": None}
    processes = [
        {**one, "pid": 10}, {**one, "pid": 11}, {**one, "pid": 12}, {**one, "pid": 13, "job": "7"},
        {**one, "pid": 14, "kib": 0},
    ]  # fmt: skip
    assert left.busy(processes, "7") == {"loop": 0.9}
    assert left.busy(processes, "8") == {"loop": 1.8}, "of another job"


def test_processor_time_of_a_process():
    left = leftovers
    before = left.used_s(os.getpid())
    until(lambda: sum(range(10**5)) and left.used_s(os.getpid()) > before, "a tick of the processor's time")
    assert left.age_s(os.getpid()) > 0


@pytest.mark.parametrize(("problem", "told"), [(None, None), (errno.EINVAL, "Invalid argument")])
def test_a_way_to_another_node(monkeypatch, problem, told):
    def connect(self, address):
        if problem:
            raise OSError(problem, os.strerror(problem))

    monkeypatch.setattr(names.socket, "socket", type("Socket", (), {
        "__init__": lambda self, *_: None, "__enter__": lambda self: self, "__exit__": lambda *_: None,
        "connect": connect,
    }))  # fmt: skip
    assert names.no_way("10.0.0.7") == told


def test_settings_of_tcp(tree, monkeypatch):
    folder = tree({"ipv4/tcp_congestion_control": "bbr", "ipv4/tcp_rmem": "4096\t131072\t6291456"})
    monkeypatch.setattr(tcp, "SETTINGS", str(folder))
    found = tcp.facts()
    assert (found["tcp.tcp_congestion_control"], found["tcp.tcp_rmem"]) == ("bbr", "4096 131072 6291456")
    assert found["tcp.rmem_max"] is None, "the kernel shows it in its first namespace only"


def test_every_setting_of_tcp_is_told_but_for_what_follows_from_the_memory_or_is_secret(tree, monkeypatch):
    names = ("tcp_window_scaling", "tcp_of_tomorrow", "tcp_mem", "tcp_fastopen_key", "tcp_available_ulp", "udp_mem")
    folder = tree({f"ipv4/{name}": "1" for name in names} | {"ipv4/conf/all/rp_filter": "2"})
    monkeypatch.setattr(tcp, "SETTINGS", str(folder))
    found = tcp.facts()
    assert {name for name, value in found.items() if value == "1"} == {
        "tcp.tcp_window_scaling", "tcp.tcp_of_tomorrow",
    }  # fmt: skip
    assert "rp_filter=2" in found["tcp.of_interface.all"]


@pytest.mark.parametrize(("count", "share"), [("0", 1), ("950", 0.05), (None, None)])
def test_tracked_connections(tree, monkeypatch, count, share):
    counts = {"netfilter/nf_conntrack_count": count} if count else {}
    monkeypatch.setattr(tcp, "SETTINGS", str(tree({"netfilter/nf_conntrack_max": "1000", **counts})))
    assert tcp.facts()["conntrack.free_share"] == share


def test_an_address_of_this_node_is_its_own():
    assert not names.is_own("192.0.2.251")
    assert not names.is_own("127.0.0.1"), "every node has it"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.connect(("192.0.2.251", 9))
        assert names.is_own(asking.getsockname()[0])


def test_what_is_left(tmp_path, monkeypatch):
    """A file in memory, a segment without a process, and a process of another job."""
    left = leftovers
    (tmp_path / "segment").write_bytes(b"x" * (3 << 20))
    os.utime(tmp_path / "segment", (1, 1))
    monkeypatch.setattr(left, "FOLDERS", {str(tmp_path): "shared_memory_files"})
    monkeypatch.setattr(left, "read", lambda *path: SHM if path[:2] == ("/proc/sysvipc", "shm") else READ(*path))
    READ = kernel_files.read
    SHM = (
        "key shmid perms size cpid lpid nattch uid gid cuid cgid atime dtime ctime rss swap\n"
        "1234 5 600 1048576 7 7 0 0 0 0 0 0 0 1 4096 0\n"
        "1235 6 600 1048576 7 7 2 0 0 0 0 0 0 1 4096 0\n"
    )
    with monkeypatch.context() as patch:
        patch.setenv("SLURM_JOB_ID", "999999")
        process = os.spawnlp(os.P_NOWAIT, "sleep", "sleep", "600")
    try:
        comm = pathlib.Path(f"/proc/{process}/comm")
        until(lambda: comm.read_text() == "sleep\n", "the process is what it becomes")
        # Clusters of other tests may run on this machine.
        monkeypatch.setattr(left, "entries", lambda folder: [str(process), str(os.getpid())])
        monkeypatch.setenv("SLURM_JOB_ID", "1000000")
        facts = left.facts()
    finally:
        os.kill(process, 9)
        os.waitpid(process, 0)
    assert facts["left.shared_memory_files_mib"] == 3
    assert facts["left.shared_memory"] == ["1.0 MiB of root"]
    assert facts["left.processes"] == [f"sleep ({process}) of job 999999"]


class Processes:
    """Other users' processes: number -> (user, line of its control group, age in s)."""

    OWN_AGE_S = 60

    def __init__(self, left, monkeypatch, processes):
        self.of = {str(pid): process for pid, process in processes.items()}
        monkeypatch.setattr(left, "entries", lambda folder: [*self.of, "uptime"])
        monkeypatch.setattr(left, "read", self.read)
        monkeypatch.setattr(left, "age_s", lambda pid: self.of[str(pid)][2] if str(pid) in self.of else self.OWN_AGE_S)

    def read(self, *path):
        _, pid, name = path
        user, group, _ = self.of.get(pid, (os.getuid(), "0::/slurm/uid_0/job_7/step_0", 0))
        # This process must not read the environment of another user's process.
        told = {"status": f"Name:\tsolver\nState:\tS (sleeping)\nUid:\t{user}\t{user}", "cgroup": group}
        return told.get(name)


@pytest.mark.parametrize(
    ("group", "job"),
    [
        ("9:memory:/slurm/uid_1007/job_6/step_0/task_0\n4:cpuset:/slurm/uid_1007/job_6", "6"),
        ("0::/system.slice/slurmstepd.scope/job_6/step_batch/user/task_0", "6"),
        ("0::/system.slice/n1_slurmstepd.scope/job_6/step_0", "6"),
        ("9:memory:/slurm_n1/uid_1007/job_6", "6"),
        ("0::/system.slice/sshd.service", None),
        ("0::/system.slice/job_6.service", None),
        (None, None),
    ],
)
def test_another_users_process_tells_its_job_by_its_control_group(monkeypatch, group, job):
    left = leftovers
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    Processes(left, monkeypatch, {100: (1007, group, 0)})
    assert [one["job"] for one in left.seen_processes()] == [job]


def test_the_job_around_virtual_nodes_is_nobodys(monkeypatch):
    left = leftovers
    monkeypatch.setenv("SLURM_JOB_ID", "3")
    Processes(left, monkeypatch, {100: (0, "0::/slurm/uid_0/job_7/step_0", 0), 101: (0, "0::/slurm/job_9", 0)})
    assert [one["job"] for one in left.seen_processes()] == [None, "9"]


def test_what_runs_in_no_job(monkeypatch):
    left = leftovers
    accounts = {1007: ("eve", "/bin/bash"), 1008: ("agent", "/usr/sbin/nologin"), 65534: ("nobody", "/bin/false")}

    def account(number):
        name, shell = accounts[number]
        return pwd.struct_passwd((name, "x", number, number, "", "/", shell))

    monkeypatch.setattr(left.pwd, "getpwuid", account)
    monkeypatch.setattr(left.os, "getuid", lambda: 1001)
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    outside, older, newer = "0::/user.slice/user-1007.slice", 600, 5
    Processes(
        left, monkeypatch,
        {
            100: (1007, outside, older), 101: (1007, outside, newer), 102: (1007, "0::/slurm/job_6", older),
            103: (1008, outside, older), 104: (65534, outside, older), 105: (100999, outside, older),
            106: (1001, outside, older), 107: (81, outside, older),
        },
    )  # fmt: skip
    assert left.outside_jobs([*left.seen_processes()]) == {"eve": ["solver (100)"]}
    monkeypatch.delenv("SLURM_JOB_ID")
    assert left.outside_jobs([*left.seen_processes()]) == {}


@pytest.mark.parametrize(("hosts", "seen"), [("aab", ["1", "2"]), ("aaa", ["1", "2", "3"])])
def test_processes_of_other_nodes_on_the_same_machine_are_theirs(monkeypatch, hosts, seen):
    left = leftovers
    monkeypatch.setattr(left, "read", lambda *names: "slurmd\n" if names[1] != "2" else "solver\n")
    monkeypatch.setattr(left, "host_of", lambda pid: hosts[0] if pid == "self" else hosts[int(pid) - 1])
    assert left.of_this_node(["1", "2", "3"]) == seen


@pytest.mark.parametrize("pattern", ["net.eth0.mtu", "net.*.mtu", "ib.*.rate", "mount./scratch.type", "cpu.governor"])
def test_what_a_site_may_name(pattern):
    assert known_fact(pattern)


@pytest.mark.parametrize("pattern", ["nte.eth0.mtu", "eth0", "mounts./scratch.type"])
def test_what_no_node_tells(pattern):
    assert not known_fact(pattern)


def test_this_host_calls_itself_something():
    assert identity.facts()["identity.host_name"] == socket.gethostname().partition(".")[0]


def test_a_reader_that_hangs_gives_the_reason_and_loses_no_other_fact(monkeypatch):
    monkeypatch.setattr(table, "_MAY_HANG", {"environment": 0.3})
    monkeypatch.setattr("kappa.node.facts.environment.shutil.which", lambda name: time.sleep(60))
    facts = collected(["setting.*", "cpu.count"], {})
    assert facts == {"cpu.count": os.cpu_count(), "failed.environment": "no answer within 0.3 s"}
