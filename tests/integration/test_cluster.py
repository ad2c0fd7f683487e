"""The embedded cluster for real: Slurm's services, the virtual nodes, faults, recovery and the traces it leaves."""

import contextlib
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kappa.embedded_cluster.layout import StateLayout
from reframe_checks.parsers.slurm import leaf_switches
from tests.mpi_environment import MPI_ENVIRONMENT
from tests.waiting import PATIENCE_S, until

REPOSITORY = Path(__file__).resolve().parents[2]
CLUSTER = REPOSITORY / "site_configs/embedded/cluster"
NODES = ["node1", "node2", "node3", "node4"]
MEMORY_LIMIT_BYTES = 150 << 20

MPI_PROGRAM = """\
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
  int rank, size, length, sum = 0;
  char name[MPI_MAX_PROCESSOR_NAME];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Get_processor_name(name, &length);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("%s %d %d\\n", name, size, sum);
  MPI_Finalize();
  return 0;
}
"""
# Rank 0 arrives late at a fence that carries no data, the kind that ends MPI_Init.
FENCE_PROGRAM = """\
import ctypes, os, pathlib, sys, time
pmix = ctypes.CDLL("libpmix.so.2")
assert pmix.PMIx_Init(ctypes.create_string_buffer(512), None, 0) == 0
arrived = pathlib.Path(sys.argv[1])
if os.environ["SLURM_PROCID"] == "0":
    time.sleep(0.5)
    arrived.touch()
assert pmix.PMIx_Fence(None, 0, None, 0) == 0
print("after" if arrived.exists() else "before")
pmix.PMIx_Finalize(None, 0)
"""


class Cluster:
    """One state directory and the commands that people use on it."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.environment = {**os.environ, "KAPPA_CLUSTER_STATE": str(state)}

    def manage(self, *arguments: str, expected: int = 0) -> subprocess.CompletedProcess[str]:
        """Run `cluster` and check its exit status."""
        result = subprocess.run(
            [CLUSTER, *arguments],
            env=self.environment, capture_output=True, text=True, timeout=2 * PATIENCE_S, check=False,
        )  # fmt: skip
        assert result.returncode == expected, f"cluster {' '.join(arguments)}: {result.stdout}{result.stderr}"
        return result

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Run `cluster` in the background."""
        return subprocess.Popen([CLUSTER, *arguments], env=self.environment, stderr=subprocess.PIPE, text=True)

    def run(
        self, command: str, *arguments: str, check: bool = True, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        """Run a Slurm command through its wrapper."""
        options = {"timeout": PATIENCE_S, "env": self.environment, **options}
        result = subprocess.run(
            [self.state / "bin" / command, *arguments], capture_output=True, text=True, check=False, **options
        )
        assert not check or result.returncode == 0, f"{command} {' '.join(arguments)}: {result.stdout}{result.stderr}"
        return result

    def on(self, place: str, *arguments: str) -> str:
        return self.manage("exec", place, *arguments).stdout.strip()

    def status(self, expected: int = 0) -> dict[str, Any]:
        report: dict[str, Any] = json.loads(self.manage("status", "--json", expected=expected).stdout)
        return report

    def await_problem(self, problem: str) -> None:
        """Wait until `cluster status` has found it: what ends takes a moment to be gone."""
        command = [CLUSTER, "status", "--json"]

        def problems() -> list[str]:
            done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
            assert done.returncode in (0, 1), done.stderr
            found: list[str] = json.loads(done.stdout)["problems"]
            return found

        until(lambda: problem in problems(), f"the status says: {problem}")

    def await_no_jobs(self) -> None:
        """Wait until no job is listed, also none that Slurm is still completing."""
        until(lambda: self.run("squeue", "--noheader").stdout == "", "no job is left")

    def accounted(self, job: str, *fields: str) -> list[str]:
        """The job's fields from sacct, which knows of a job's end some seconds later."""
        command = ["--noheader", "--parsable2", "--allocations", "--jobs", job, "--format", ",".join(("end", *fields))]

        def ended() -> list[str]:
            lines = self.run("sacct", *command).stdout.splitlines()
            row = lines[0].split("|") if lines else [""]
            return row if row[0] not in ("", "Unknown") else []

        return until(ended, f"job {job} has an end in the accounting")[1:]

    def host_pids(self) -> list[int]:
        """Every process in the cluster's namespaces, and the outer one."""
        reports = [int(self.pid_file(place)[0]) for place in ("login", *NODES) if self.pid_path(place).exists()]
        namespaces = {os.readlink(f"/proc/{pid}/ns/pid") for pid in reports}
        return [pid for pid in all_pids() if link(pid) in namespaces] + [self.outer_pid()]

    def outer_pid(self) -> int:
        """The host process that carries the cluster: the parent of the login namespace's init."""
        stat = Path(f"/proc/{self.pid_file('login')[0]}/stat").read_text()
        return int(stat.rpartition(")")[2].split()[1])

    def pid_path(self, place: str) -> Path:
        return self.state / "run" / f"{place}.pid"

    def pid_file(self, place: str) -> list[str]:
        return self.pid_path(place).read_text().split()


def all_pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]


def link(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return ""


def runs(pid: int) -> bool:
    """Whether the process runs; a zombie, which waits for its parent, does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def interfaces() -> set[str]:
    """Network devices of the host's that are one end of a pair, as the cluster's are."""
    shown = subprocess.run(["ip", "-brief", "link", "show", "type", "veth"], capture_output=True, text=True, check=True)
    return {line.split()[0] for line in shown.stdout.splitlines()}


def names_of_root() -> set[str]:
    """Names in / and /run of what a cluster runs; the host and other tests have others, which come and go."""
    names = (f"{folder}{name}" for folder in ("/", "/run/") for name in os.listdir(folder))
    return {name for name in names if re.search("kappa|munge|slurm|mysql|maria|login|node", name)}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster of four nodes with accounting; it stays up for the whole file."""
    before = names_of_root()
    found = Cluster(tmp_path_factory.mktemp("cluster with a space") / "state")
    result = subprocess.run([CLUSTER, "up"], env=found.environment, capture_output=True, text=True, check=False)
    if result.returncode != 0 and ("missing programs" in result.stderr or "user namespaces" in result.stderr):
        pytest.skip(f"not provided here: {result.stderr.strip()}")
    assert result.returncode == 0, result.stderr
    yield found
    found.manage("down", "--purge")
    assert not found.state.exists()
    until(lambda: names_of_root() <= before, "nothing new is in / and /run")


@pytest.fixture
def second(cluster: Cluster, tmp_path: Path) -> Iterator[Cluster]:
    """A state directory of its own beside the running cluster; nothing is up in it yet."""
    found = Cluster(tmp_path / "second")
    yield found
    found.manage("down", "--purge")


class TestService:
    def test_status_is_healthy_and_small(self, cluster: Cluster) -> None:
        cluster.await_no_jobs()
        report = cluster.status()
        assert report["state"] == "healthy"
        assert {node["name"]: node["state"] for node in report["nodes"]} == dict.fromkeys(NODES, "idle")
        assert {d["name"] for d in report["daemons"]} >= {"slurmctld", "slurmdbd", "mariadbd", "slurmd-node4"}
        assert 0 < report["memory_bytes"] < MEMORY_LIMIT_BYTES
        table = cluster.manage("status").stdout
        assert table.startswith("cluster: healthy")
        assert str(cluster.state / "bin") in table

    def test_all_nodes_answer(self, cluster: Cluster) -> None:
        assert sorted(cluster.run("srun", "-N4", "-p", "scratch", "hostname").stdout.split()) == NODES

    @pytest.mark.parametrize(("partition", "nodes"), [("cpu", "node[1-2]"), ("gpu", "node[3-4]")])
    def test_accounting_knows_exit_code_and_nodes(self, cluster: Cluster, partition: str, nodes: str) -> None:
        command = ["--parsable", "--output=/dev/null", "--nodes=2", f"--partition={partition}", "--wrap", "exit 3"]
        job = cluster.run("sbatch", *command).stdout.strip()
        assert cluster.accounted(job, "state", "exitcode", "nodelist") == ["FAILED", "3:0", nodes]

    def test_cpu_is_the_default_partition(self, cluster: Cluster) -> None:
        assert "cpu*" in cluster.run("sinfo", "--noheader", "--format=%P").stdout.split()

    def test_gpu_resource(self, cluster: Cluster) -> None:
        show = cluster.run("srun", "-p", "gpu", "-N2", "--gres=gpu:1", "scontrol", "show", "job").stdout
        assert "gres/gpu=2" in show
        refused = cluster.run("srun", "-p", "cpu", "--gres=gpu:1", "true", check=False)
        assert refused.returncode != 0
        assert "not available" in refused.stderr

    def test_mpi_over_two_nodes(self, cluster: Cluster, tmp_path: Path) -> None:
        if shutil.which("mpicc") is None:
            pytest.skip("not provided here: mpicc (Debian package libopenmpi-dev)")
        (tmp_path / "sum.c").write_text(MPI_PROGRAM)
        subprocess.run(["mpicc", "-o", tmp_path / "sum", tmp_path / "sum.c"], check=True)
        environment = cluster.environment | MPI_ENVIRONMENT
        command = ["--mpi=pmix", "-N2", "-n4", "--overcommit", "-p", "cpu", str(tmp_path / "sum")]
        lines = cluster.run("srun", *command, env=environment).stdout.splitlines()
        assert sorted(lines) == ["node1 4 6"] * 2 + ["node2 4 6"] * 2

    def test_fence_waits_for_the_other_node(self, cluster: Cluster, tmp_path: Path) -> None:
        command = ["--mpi=pmix", "-N2", "-n4", "--overcommit", "-p", "cpu", "python3", "-c", FENCE_PROGRAM]
        assert cluster.run("srun", *command, str(tmp_path / "arrived")).stdout.split() == ["after"] * 4

    def test_licence_lets_one_job_run_at_a_time(self, cluster: Cluster) -> None:
        script = "echo begin >>/shared/order; sleep 0.3; echo end >>/shared/order"
        for partition in ("cpu", "gpu", "cpu"):
            cluster.run("sbatch", "--licenses=machine:1", "--output=/dev/null", "-p", partition, "--wrap", script)
        order = cluster.state / "shared" / "order"
        until(lambda: order.exists() and order.read_text().count("end") == 3, "all three jobs have ended")
        assert order.read_text().split() == ["begin", "end"] * 3


class TestNodes:
    def test_each_has_its_own_network_and_name(self, cluster: Cluster) -> None:
        for node in ("node1", "node4"):
            assert cluster.on(node, "hostname") == node
            assert sorted(cluster.on(node, "ls", "/sys/class/net").split()) == ["eth0", "eth1", "lo"]
        assert "10.77.0.4/24" in cluster.on("node4", "ip", "-brief", "address", "show", "eth0")

    def test_processes_are_private(self, cluster: Cluster) -> None:
        assert cluster.on("node1", "pgrep", "-c", "-x", "slurmd") == "1"
        assert cluster.on("node1", "cat", "/proc/1/comm") == "tini"

    @pytest.mark.parametrize("folder", ["/scratch", "/dev/shm"])
    def test_private_folders(self, cluster: Cluster, folder: str) -> None:
        cluster.on("node1", "touch", f"{folder}/kappa-private")
        assert cluster.on("node1", "ls", f"{folder}/kappa-private")
        cluster.manage("exec", "node2", "test", "-e", f"{folder}/kappa-private", expected=1)
        assert not Path(folder, "kappa-private").exists()

    def test_shared_folder(self, cluster: Cluster) -> None:
        cluster.on("node1", "sh", "-c", "hostname >/shared/name")
        assert cluster.on("node3", "cat", "/shared/name") == "node1"
        assert (cluster.state / "shared" / "name").read_text() == "node1\n"

    def test_scratch_has_a_size_of_its_own(self, cluster: Cluster) -> None:
        size_kib = int(cluster.on("node2", "df", "--output=size", "/scratch").split()[-1])
        assert 0.9 * (1 << 20) < size_kib <= 1 << 20
        full = cluster.manage("exec", "node2", "sh", "-c", "cat /dev/zero >/scratch/fill", expected=1)
        assert "No space left on device" in full.stderr
        cluster.on("node2", "rm", "/scratch/fill")

    def test_bandwidth_can_be_limited(self, cluster: Cluster) -> None:
        shape = ["tbf", "rate", "100mbit", "burst", "70000", "latency", "50ms"]
        cluster.on("node2", "tc", "qdisc", "add", "dev", "eth0", "root", *shape)
        assert "rate 100Mbit" in cluster.on("node2", "tc", "qdisc", "show", "dev", "eth0")
        cluster.on("node2", "tc", "qdisc", "delete", "dev", "eth0", "root")


class TestSwitches:
    LEAVES = {"node1": "switch1", "node2": "switch1", "node3": "switch2", "node4": "switch2"}

    def test_slurm_knows_them(self, cluster: Cluster) -> None:
        assert leaf_switches(cluster.run("scontrol", "show", "topology").stdout) == self.LEAVES

    @pytest.mark.parametrize(
        ("option", "excluded", "switches"),
        [
            ("--switches=1", "node1", ["switch2"]),
            ("--switches=1", "node4", ["switch1"]),
            ("--constraint=[switch1*1&switch2*1]", "node1", ["switch1", "switch2"]),
            ("--constraint=[switch1*1&switch2*1]", "node3", ["switch1", "switch2"]),
        ],
    )
    def test_jobs_can_ask_for_one_or_for_two(
        self, cluster: Cluster, option: str, excluded: str, switches: list[str]
    ) -> None:
        command = ["-N2", "-p", "scratch", f"--exclude={excluded}", option, "hostname"]
        nodes = cluster.run("srun", *command).stdout.split()
        assert len(set(nodes)) == 2
        assert sorted({self.LEAVES[node] for node in nodes}) == switches

    def test_traffic_between_them_takes_the_uplinks(self, cluster: Cluster) -> None:
        def reaches(target: str) -> bool:
            # slurmd's port.
            script = f"timeout 5 bash -c '< /dev/tcp/{target}/6818' 2> /dev/null && echo yes || echo no"
            return cluster.on("node3", "sh", "-c", script) == "yes"

        until(lambda: reaches("node1"), "node3 reaches node1")
        cluster.on("login", "ip", "link", "set", "up-switch2", "down")
        try:
            until(lambda: not reaches("node1"), "node3 reaches node1 no longer")
            until(lambda: reaches("node4"), "node3 reaches node4")
        finally:
            cluster.on("login", "ip", "link", "set", "up-switch2", "up")
        until(lambda: reaches("node1"), "node3 reaches node1 again")

    def test_the_spine_alone_answers_for_the_login_address(self, cluster: Cluster) -> None:
        """A leaf's MAC address changes with its nodes' ports: nodes that had it would lose the login node."""
        spine = cluster.on("login", "cat", "/sys/class/net/spine/address")
        for node in NODES:
            cluster.on(node, "ip", "neigh", "flush", "dev", "eth0")
            cluster.on(node, "bash", "-c", "< /dev/tcp/login/6817")
            assert f"lladdr {spine} " in cluster.on(node, "ip", "neigh", "show", "dev", "eth0")


class TestCommands:
    def test_wrapper_keeps_folder_environment_arguments_and_status(self, cluster: Cluster, tmp_path: Path) -> None:
        script = 'printf "%s|" "$PWD" "$COLOUR" "$@"; exit 7'
        environment = cluster.environment | {"COLOUR": "dark 'blue'"}
        command = ["sh", "-c", script, "sh", "a b", "$HOME", "*"]
        result = cluster.run("srun", *command, check=False, cwd=tmp_path, env=environment)
        assert result.stdout == f"{tmp_path}|dark 'blue'|a b|$HOME|*|"
        assert result.returncode == 7

    def test_a_slurm_of_the_host_does_not_interfere(self, cluster: Cluster, tmp_path: Path) -> None:
        environment = cluster.environment | {"SLURM_CONF": f"{tmp_path}/none", "SLURM_JOB_ID": "7"}
        assert cluster.run("srun", "--nodelist=node2", "hostname", env=environment).stdout == "node2\n"

    def test_wrappers_serve_inside_a_job_too(self, cluster: Cluster, tmp_path: Path) -> None:
        environment = cluster.environment | {"PATH": f"{cluster.state / 'bin'}:{os.environ['PATH']}"}
        script = "#!/bin/sh\ncommand -v srun\nsrun -N2 hostname\n"
        output = tmp_path / "out"
        cluster.run("sbatch", "--wait", "-N2", f"--output={output}", env=environment, input=script)
        lines = output.read_text().splitlines()
        assert lines[0] == str(cluster.state / "bin" / "srun")
        assert sorted(lines[1:]) == ["node1", "node2"]

    def test_an_ended_wrapper_takes_the_command_along(self, cluster: Cluster, tmp_path: Path) -> None:
        begun = tmp_path / "begun"
        program = [str(cluster.state / "bin" / "srun"), "--job-name=to-be-ended"]
        with subprocess.Popen([*program, "sh", "-c", f"touch {begun}; exec sleep 600"],
                              env=cluster.environment, stderr=subprocess.DEVNULL) as process:  # fmt: skip
            # Slurm calls it running before srun has started the task, and an srun that is ended between forgets it.
            until(begun.exists, "the command runs")
            process.kill()
        queue = ["--noheader", "--name=to-be-ended", "--states=running"]
        until(lambda: cluster.run("squeue", *queue).stdout == "", "the command has ended")

    def test_exec_passes_arguments_and_status(self, cluster: Cluster) -> None:
        assert cluster.on("node1", "printf", "%s|", "a b", "", "'", "--help") == "a b||'|--help|"
        cluster.manage("exec", "node1", "--", "sh", "-c", "exit 42", expected=42)
        assert "expected one of login, node1" in cluster.manage("exec", "node9", "true", expected=2).stderr

    def test_exec_without_command_is_a_shell_on_the_terminal(self, cluster: Cluster) -> None:
        leader, follower = pty.openpty()
        os.set_blocking(leader, False)
        environment = cluster.environment | {"SHELL": "/bin/sh"}
        command = [str(CLUSTER), "exec", "node2"]
        with subprocess.Popen(command, env=environment, stdin=follower, stdout=follower, stderr=follower) as shell:
            os.write(leader, b'test -t 0 && echo "on $(hostname)"; exit 5\n')
            assert shell.wait(timeout=PATIENCE_S) == 5
        seen = bytearray()

        def shown() -> bool:
            with contextlib.suppress(BlockingIOError):
                seen.extend(os.read(leader, 1 << 16))
            return b"on node2" in seen

        until(shown, "the terminal shows the name of the node")
        os.close(leader)
        os.close(follower)

    def test_logs(self, cluster: Cluster) -> None:
        assert "slurmctld.log" in cluster.manage("logs", "slurmctld").stdout
        assert "slurmd-node2.log" in cluster.manage("logs", "node2", "-n", "1").stdout
        assert "there is no log of slurmfoo" in cluster.manage("logs", "slurmfoo", expected=2).stderr

    def test_up_again(self, cluster: Cluster) -> None:
        result = cluster.manage("up", "--print-env", "--nodes", "4")
        assert "already up" in result.stderr
        script = f"{result.stdout}command -v squeue"
        found = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout
        assert found.strip() == str(cluster.state / "bin" / "squeue")

    def test_up_with_other_options_is_refused(self, cluster: Cluster) -> None:
        assert "nodes is 4, not 2" in cluster.manage("up", "--nodes", "2", expected=2).stderr


class TestHealing:
    def test_killed_slurmd(self, cluster: Cluster) -> None:
        cluster.on("node2", "pkill", "-9", "slurmd")
        cluster.await_problem("slurmd-node2 is not running")
        assert "restarted: slurmd-node2" in cluster.manage("up").stderr
        assert cluster.run("srun", "-w", "node2", "hostname").stdout.strip() == "node2"

    def test_node_without_power_and_database_killed(self, cluster: Cluster) -> None:
        node3 = int(cluster.pid_file("node3")[0])
        os.kill(node3, signal.SIGKILL)
        cluster.on("login", "pkill", "-9", "-x", "mariadbd")
        until(lambda: not runs(node3), "node3 is off")
        until(lambda: cluster.on("login", "sh", "-c", "pgrep -x mariadbd || true") == "", "the database has ended")
        said = cluster.manage("up").stderr
        assert "node3 namespaces" in said
        assert "mariadbd" in said
        assert sorted(cluster.run("srun", "-N4", "-p", "scratch", "hostname").stdout.split()) == NODES

    def test_drained_node(self, cluster: Cluster) -> None:
        cluster.await_no_jobs()
        cluster.run("scontrol", "update", "NodeName=node1", "State=DRAIN", "Reason=a test")
        cluster.await_problem("node1 is drained (a test)")
        assert "node1 was drained (a test): resumed" in cluster.manage("up").stderr
        cluster.status()


class TestTraces:
    def test_second_cluster_its_crash_and_its_end(self, cluster: Cluster, second: Cluster) -> None:
        """One after another: two starts at once, side by side, crash, damaged database, end."""
        small = ["up", "--nodes", "2", "--scratch-size", "64M"]
        before = interfaces()
        # MariaDB removes what others have left of such tables, or still use, where it makes its own.
        of_another = Path(tempfile.gettempdir(), "#sql-temptable-4d2-1-3.MAI")
        of_another.touch()

        starts = [second.start(*small), second.start(*small)]
        said = [start.communicate(timeout=PATIENCE_S)[1] for start in starts]
        assert [start.returncode for start in starts] == [0, 0], said
        assert sum("already up" in text for text in said) == 1, said
        of_another.unlink()

        # The same names and addresses, but another network and another Slurm.
        assert second.run("srun", "-N2", "-p", "scratch", "hostname").stdout.split() != []
        assert len(second.status()["nodes"]) == 2
        assert len(cluster.status()["nodes"]) == 4

        second.run("sbatch", "--output=/dev/null", "--wrap", "sleep 600")
        until(lambda: "R" in second.run("squeue", "--noheader", "--format=%t").stdout, "the job runs")
        pids = second.host_pids()
        os.kill(second.outer_pid(), signal.SIGKILL)
        until(lambda: not any(map(runs, pids)), "the whole cluster has ended")
        second.manage("status", expected=3)
        second.manage("up")
        second.await_no_jobs()
        assert second.run("srun", "--nodelist=node2", "hostname").stdout.strip() == "node2"

        # With different file systems on /scratch, one node would be blamed: the first node's choice holds.
        (second.state / "run/scratch_fs").write_text("tmpfs\n")
        node2 = int(second.pid_file("node2")[0])
        os.kill(node2, signal.SIGKILL)
        until(lambda: not runs(node2), "node2 is off")
        second.manage("up")
        assert second.on("node2", "findmnt", "--noheadings", "--output", "FSTYPE", "/scratch").strip() == "tmpfs"

        pids = second.host_pids()
        assert len(pids) > 10
        images = {image: str(image.stat().st_ino) for image in second.state.glob("nodes/*/scratch.img")}
        second.manage("down")
        until(lambda: not any(map(runs, pids)), "no process is left")
        until(lambda: str(second.state) not in Path("/proc/mounts").read_text(), "no mount is left")
        assert not any(image.exists() for image in images)
        assert interfaces() <= before
        loops = ["losetup", "--list", "--noheadings", "--output", "BACK-INO"]

        def used() -> set[str]:
            return {*subprocess.run(loops, capture_output=True, text=True, check=True).stdout.split()}

        until(lambda: not used() & set(images.values()), "no loop device is left")
        assert "was not up" in second.manage("down").stderr

        data = second.state / "database" / "ibdata1"
        data.write_bytes(os.urandom(data.stat().st_size))
        assert "the accounting database cannot be used" in second.manage("up", "--nodes", "2").stderr
        job = second.run("sbatch", "--parsable", "--output=/dev/null", "--wrap", "true").stdout.strip()
        assert second.accounted(job, "state") == ["COMPLETED"]

        second.manage("down", "--purge")
        assert not second.state.exists()
        cluster.status()

    def test_a_pid_that_now_belongs_to_others_is_left_alone(self, cluster: Cluster, second: Cluster) -> None:
        StateLayout(second.state).create(())
        shutil.copy(cluster.state / "run" / "instance.json", second.state / "run")
        _, start, boot = cluster.pid_file("login")
        with subprocess.Popen(["sleep", "infinity"]) as foreign:
            try:
                second.pid_path("login").write_text(f"{foreign.pid} {start} {boot}\n")
                second.manage("status", expected=3)
                assert "is not up" in second.manage("exec", "node1", "true", expected=2).stderr
                assert "was not up" in second.manage("down", "--purge").stderr
                assert foreign.poll() is None
            finally:
                foreign.kill()

    def test_a_start_that_fails_leaves_nothing(self, second: Cluster) -> None:
        # No file of this size can be made, so there is no scratch space on a loop device.
        command = ["up", "--nodes", "2", "--no-accounting", "--scratch-fs", "ext4", "--scratch-size", "900000T"]
        said = second.manage(*command, expected=2).stderr
        assert f"last lines of {second.state}/log/init-node" in said
        second.manage("status", expected=3)
        assert not list(second.state.glob("run/*.pid"))
