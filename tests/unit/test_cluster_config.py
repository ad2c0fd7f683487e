"""The embedded cluster's configuration files, options, pid files and wrappers, without a cluster."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kappa.embedded_cluster import render, start, wrappers
from kappa.embedded_cluster.console import ClusterError, ConsoleProgress, Deadline, log_tail
from kappa.embedded_cluster.instance import Instance, find_outer, outer_command, remove_state, state_lock
from kappa.embedded_cluster.layout import (
    MAX_NODES,
    ClusterOptions,
    StateLayout,
    find_gpu_devices,
    parse_size,
    write_whole,
)
from kappa.embedded_cluster.namespaces import check_memory
from kappa.embedded_cluster.processes import EXITING, ProcessId, boot_id
from kappa.embedded_cluster.status import ClusterNode, parse_sinfo
from reframe_checks.parsers.slurm import leaf_switches
from tests.waiting import PATIENCE_S


def settings_of(text: str) -> dict[str, str]:
    """The lines ``key=value`` of a configuration file that hold one setting."""
    lines = (line for line in text.splitlines() if line and not line.startswith(("#", "NodeName", "PartitionName")))
    return dict(line.split("=", 1) for line in lines)


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process that is not the cluster's."""
    with subprocess.Popen(["sleep", "infinity"]) as process:
        yield process
        process.kill()


def identity(process: subprocess.Popen[bytes]) -> ProcessId:
    found = ProcessId.of(process.pid)
    assert found is not None
    return found


class TestOptions:
    @pytest.mark.parametrize(
        ("text", "size"), [("1G", 1 << 30), ("512M", 512 << 20), ("64MiB", 64 << 20), ("2t", 2 << 40), ("4096", 4096)]
    )
    def test_sizes(self, text: str, size: int) -> None:
        assert parse_size(text) == size

    @pytest.mark.parametrize("text", ["", "G", "-1G", "1.5G", "1X", "1 0G", "0x10"])
    def test_what_is_no_size(self, text: str) -> None:
        with pytest.raises(ValueError, match="for example 1G"):
            parse_size(text)

    @pytest.mark.parametrize(
        ("wrong", "named"),
        [
            ({"nodes": 3}, "--nodes 3"),
            ({"nodes": 0}, "--nodes 0"),
            ({"nodes": 66}, "--nodes 66"),
            ({"cpus_per_node": 0}, "--cpus-per-node 0"),
            ({"scratch_bytes": 1024}, "--scratch-size 1024 B"),
            ({"scratch_fs": "xfs"}, "--scratch-fs xfs"),
            ({"light": True, "backup_controller": True}, "--backup-controller"),
        ],
    )
    def test_a_wrong_option_is_named(self, wrong: dict[str, int], named: str) -> None:
        with pytest.raises(ClusterError, match=re.escape(named)):
            ClusterOptions(**wrong)  # type: ignore[arg-type]

    def test_conflicts_name_only_what_differs(self) -> None:
        running = ClusterOptions(nodes=4, scratch_fs="ext4")
        assert running.conflicts({"nodes": 4}) == []
        assert running.conflicts({"nodes": 2, "scratch_fs": "ext4"}) == ["nodes is 4, not 2"]

    def test_gpu_devices_are_the_numbered_ones_in_order(self, tmp_path: Path) -> None:
        for name in ("nvidia10", "nvidia2", "nvidiactl", "nvidia-uvm", "null"):
            (tmp_path / name).touch()
        assert find_gpu_devices(tmp_path) == (f"{tmp_path}/nvidia2", f"{tmp_path}/nvidia10")


class TestSlurmConf:
    @pytest.mark.parametrize(
        ("nodes", "cpu", "gpu", "all_nodes"),
        [(2, "node1", "node2", "node[1-2]"), (4, "node[1-2]", "node[3-4]", "node[1-4]")],
    )
    def test_partitions_and_nodes(self, nodes: int, cpu: str, gpu: str, all_nodes: str) -> None:
        text = render.render_slurm_conf(ClusterOptions(nodes=nodes, cpus_per_node=8), (), 2048)
        assert f"\nPartitionName=cpu Nodes={cpu} Default=YES\n" in text
        assert f"\nPartitionName=gpu Nodes={gpu}\n" in text
        assert f"\nPartitionName=scratch Nodes={all_nodes}\n" in text
        assert "NodeName=DEFAULT CPUs=8 " in text
        assert "RealMemory=2048 " in text

    def test_each_node_has_its_switch_as_a_feature_and_the_second_half_a_gpu(self) -> None:
        text = render.render_slurm_conf(ClusterOptions(nodes=4), (), 2048)
        lines = [line for line in text.splitlines() if line.startswith("NodeName=node")]
        assert lines == [
            "NodeName=node1 NodeAddr=10.77.0.1 Port=6818 Feature=switch1",
            "NodeName=node2 NodeAddr=10.77.0.2 Port=6818 Feature=switch1",
            "NodeName=node3 NodeAddr=10.77.0.3 Port=6818 Feature=switch2 Gres=gpu:placeholder:1",
            "NodeName=node4 NodeAddr=10.77.0.4 Port=6818 Feature=switch2 Gres=gpu:placeholder:1",
        ]

    def test_settings(self) -> None:
        settings = settings_of(render.render_slurm_conf(ClusterOptions(), (), 2048))
        assert settings["Licenses"] == "machine:1"
        assert settings["MpiDefault"] == "pmix"
        assert settings["AccountingStorageType"] == "accounting_storage/slurmdbd"
        assert settings["SlurmdTimeout"] == "20"
        assert settings["TopologyPlugin"] == "topology/tree"
        assert settings["JobRequeue"] == "0"
        assert "batch_sched_delay=0" in settings["SchedulerParameters"].split(",")

    def test_a_backup_controller_is_on_the_first_node(self) -> None:
        text = render.render_slurm_conf(ClusterOptions(backup_controller=True), (), 2048)
        hosts = [line for line in text.splitlines() if line.startswith("SlurmctldHost=")]
        assert hosts == ["SlurmctldHost=login(10.77.0.254)", "SlurmctldHost=node1(10.77.0.1)"]
        assert "node1(10.77.0.1)" not in render.render_slurm_conf(ClusterOptions(), (), 2048)

    def test_without_accounting(self) -> None:
        settings = settings_of(render.render_slurm_conf(ClusterOptions(accounting=False), (), 2048))
        assert settings["AccountingStorageType"] == "accounting_storage/none"
        assert "AccountingStorageHost" not in settings

    def test_paths_are_short_enough_for_sockets(self) -> None:
        spool = settings_of(render.render_slurm_conf(ClusterOptions(), (), 2048))["SlurmdSpoolDir"]
        assert len(spool.replace("%n", "node64") + "/node64_4294967295.4294967295") < 108

    def test_hosts(self) -> None:
        rows = [line.split() for line in render.render_hosts(ClusterOptions(nodes=2)).splitlines()]
        assert rows == [
            ["127.0.0.1", "localhost"],
            ["10.77.0.254", "login"],
            ["10.77.0.1", "node1"],
            ["10.77.0.2", "node2"],
        ]

    def test_gres_without_gpus_is_a_placeholder(self) -> None:
        lines = render.render_gres_conf(ClusterOptions(nodes=4), ()).splitlines()
        assert lines == [
            "AutoDetect=off",
            "NodeName=node3 Name=gpu Type=placeholder File=/dev/null",
            "NodeName=node4 Name=gpu Type=placeholder File=/dev/null",
        ]

    def test_gpus_are_shared_out(self) -> None:
        devices = tuple(f"/dev/nvidia{i}" for i in range(4))
        options = ClusterOptions(nodes=4)
        lines = render.render_gres_conf(options, devices).splitlines()
        assert lines[1:] == [
            "NodeName=node3 Name=gpu File=/dev/nvidia0",
            "NodeName=node3 Name=gpu File=/dev/nvidia1",
            "NodeName=node4 Name=gpu File=/dev/nvidia2",
            "NodeName=node4 Name=gpu File=/dev/nvidia3",
        ]
        assert " Gres=gpu:2\n" in render.render_slurm_conf(options, devices, 2048)

    def test_one_gpu_is_on_every_gpu_node(self) -> None:
        lines = render.render_gres_conf(ClusterOptions(nodes=4), ("/dev/nvidia0",)).splitlines()
        assert lines[1:] == ["NodeName=node3 Name=gpu File=/dev/nvidia0", "NodeName=node4 Name=gpu File=/dev/nvidia0"]


class TestSwitches:
    @pytest.mark.parametrize(
        ("nodes", "leaves"),
        [
            (2, {"switch1": ["node1", "node2"]}),
            (4, {"switch1": ["node1", "node2"], "switch2": ["node3", "node4"]}),
            (6, {"switch1": ["node1", "node2"], "switch2": ["node3", "node4"], "switch3": ["node5", "node6"]}),
        ],
    )
    def test_two_nodes_on_each_leaf_below_one_spine(self, nodes: int, leaves: dict[str, list[str]]) -> None:
        text = render.render_topology_conf(ClusterOptions(nodes=nodes))
        assert leaf_switches(text) == {node: leaf for leaf, inside in leaves.items() for node in inside}
        assert text.splitlines()[-1] == f"SwitchName=spine Switches={','.join(leaves)}"

    def test_every_leaf_is_a_bridge_with_a_link_to_the_spine(self) -> None:
        lines = render.render_bridges(ClusterOptions(nodes=4, adapters=1)).splitlines()
        assert lines[:5] == [
            "link add switch1 type bridge",
            "link set switch1 arp off up",
            "link add up-switch1 type veth peer name down-switch1",
            "link set up-switch1 master switch1 up",
            "link set down-switch1 master spine up",
        ]
        assert len(lines) == 10

    def test_further_adapters_have_a_switch_and_a_network_each(self) -> None:
        lines = render.render_bridges(ClusterOptions(nodes=4, adapters=3)).splitlines()
        assert [line for line in lines if "rail" in line] == [
            "link add rail1 type bridge", "link set rail1 arp off up",
            "link add rail2 type bridge", "link set rail2 arp off up",
        ]  # fmt: skip
        assert [render.rail_address("node3", rail) for rail in (1, 2)] == ["10.78.0.3", "10.79.0.3"]

    def test_names_of_devices_are_short_enough(self) -> None:
        options = ClusterOptions(nodes=MAX_NODES)
        assert len(f"down-{render.leaf_of(options.node_names[-1], options)}") <= 15


def light(nodes: int) -> ClusterOptions:
    return ClusterOptions(nodes=nodes, light=True, adapters=1, scratch_fs="tmpfs")


class TestLightNodes:
    def test_they_share_an_address_and_have_a_port_each(self) -> None:
        text = render.render_slurm_conf(light(512), (), 2048)
        nodes = [line.split() for line in text.splitlines() if line.startswith("NodeName=node")]
        assert {words[1] for words in nodes} == {"NodeAddr=10.77.0.254"}
        assert len({words[2] for words in nodes}) == len({words[0] for words in nodes}) == 512
        assert {"10.77.0.254"} == {row.split()[0] for row in render.render_hosts(light(512)).splitlines()[1:]}
        # Jobs of all nodes run at once: nothing is measured.
        assert settings_of(text)["Licenses"] == "machine:512"

    def test_a_leaf_has_sixteen_and_the_smallest_cluster_two_leaves(self) -> None:
        leaves = leaf_switches(render.render_topology_conf(light(64)))
        assert [leaves[f"node{number}"] for number in (1, 16, 17, 64)] == ["switch1", "switch1", "switch2", "switch4"]
        assert {*leaf_switches(render.render_topology_conf(light(2))).values()} == {"switch1", "switch2"}

    @pytest.mark.parametrize(
        ("wanted", "message"),
        [
            ({"nodes": 1026, "light": True, "adapters": 1, "scratch_fs": "tmpfs"}, "even number from 2 to 1024"),
            ({"nodes": 512}, "from 2 to 64; with --light up to 1024"),
            ({"nodes": 8, "light": True, "scratch_fs": "tmpfs"}, "one adapter"),
            ({"nodes": 8, "light": True, "adapters": 1, "scratch_fs": "ext4"}, "tmpfs on /scratch"),
        ],
    )
    def test_what_cannot_be(self, wanted: dict[str, Any], message: str) -> None:
        with pytest.raises(ClusterError, match=message):
            ClusterOptions(**wanted)

    def test_nodes_without_memory_are_refused_with_how_many_fit(self, tmp_path: Path) -> None:
        meminfo = tmp_path / "meminfo"
        meminfo.write_text("MemTotal: 9000000 kB\nMemAvailable:   1048576 kB\n")
        check_memory(128, meminfo)
        with pytest.raises(ClusterError, match=r"needs 1040 MiB .* 1024 MiB are available: give at most --nodes 128"):
            check_memory(130, meminfo)


class TestProcessId:
    def test_pid_file_round_trip(self, tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
        process = identity(sleeper)
        process.write(tmp_path / "pid")
        assert ProcessId.read(tmp_path / "pid") == process
        assert process.alive()

    @pytest.mark.parametrize("text", ["", "17", "17 18", "a b c", "1 2 3 4"])
    def test_damaged_pid_file_names_nothing(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "pid").write_text(text)
        assert ProcessId.read(tmp_path / "pid") is None
        assert ProcessId.read(tmp_path / "absent") is None

    def test_reused_pid_is_another_process(self, sleeper: subprocess.Popen[bytes]) -> None:
        process = identity(sleeper)
        for stale in (
            ProcessId(process.pid, process.start_ticks - 1, process.boot),
            ProcessId(process.pid, process.start_ticks, "another boot"),
        ):
            assert not stale.alive()
            stale.send(signal.SIGKILL)
            assert stale.wait_gone(0)
        time.sleep(0.05)
        assert sleeper.poll() is None

    def test_signal_and_end(self, sleeper: subprocess.Popen[bytes]) -> None:
        process = identity(sleeper)
        assert not process.wait_gone(0.01)
        process.send(signal.SIGTERM)
        assert process.wait_gone(PATIENCE_S)
        assert not process.alive()  # a zombie until the parent asks
        assert sleeper.wait() == -signal.SIGTERM
        process.send(signal.SIGTERM)
        assert process.wait_gone(0)

    def test_outer_process_is_found_by_its_command_line(self, tmp_path: Path) -> None:
        layout = StateLayout(tmp_path / "a")
        wanted = outer_command(layout, rootless=False, login_address="10.0.0.1/24")
        program = "import sys, time; sys.stdin.readline()"
        assert find_outer(layout) is None
        # A process with the same words in another order is not it.
        with subprocess.Popen([sys.executable, "-c", program, *wanted], stdin=subprocess.PIPE) as other:
            assert find_outer(layout) is None
            other.kill()
        with subprocess.Popen(
            ["unshare", "-c", program, *wanted[1:]], executable=sys.executable, stdin=subprocess.PIPE
        ) as outer:
            deadline = Deadline(PATIENCE_S)
            assert deadline.poll(lambda: find_outer(layout) is not None)
            found = find_outer(layout)
            assert found is not None
            assert found.pid == outer.pid
            assert find_outer(StateLayout(tmp_path / "b")) is None
            outer.kill()


class TestFiles:
    def test_write_whole(self, tmp_path: Path) -> None:
        path = tmp_path / "f"
        write_whole(path, "old")
        write_whole(path, "new", 0o600)
        assert path.read_text() == "new"
        assert path.stat().st_mode & 0o777 == 0o600

    def test_a_failed_write_leaves_the_old_file_alone(self, tmp_path: Path) -> None:
        path = tmp_path / "f"
        write_whole(path, "old")
        with pytest.raises(UnicodeEncodeError):
            write_whole(path, "\ud800")
        assert path.read_text() == "old"
        assert os.listdir(tmp_path) == ["f"]

    def test_log_tail(self, tmp_path: Path) -> None:
        log = tmp_path / "log"
        assert log_tail(log) == f"  (the log {log} is empty)"
        log.write_bytes(b"".join(b"line %d \xff\n" % i for i in range(100)))
        lines = log_tail(log).splitlines()
        assert str(log) in lines[0]
        assert lines[-1].startswith("  | line 99")
        assert "line 50" not in log_tail(log)

    def test_instance_round_trip(self, tmp_path: Path) -> None:
        layout = StateLayout(tmp_path)
        options = ClusterOptions(nodes=2, scratch_fs="tmpfs")
        layout.create(options.node_names)
        assert Instance.load(layout) is None
        instance = Instance(layout, options, True, ("/dev/nvidia0",))
        instance.save()
        assert Instance.load(layout) == instance

    @pytest.mark.parametrize("text", ["{", "[]", '{"options": {"nodes": 4}}', '{"options": {"colour": 4}}'])
    def test_a_damaged_record_is_named(self, tmp_path: Path, text: str) -> None:
        layout = StateLayout(tmp_path)
        layout.create(())
        layout.instance.write_text(text)
        with pytest.raises(ClusterError, match=re.escape(str(layout.instance))):
            Instance.load(layout)


class TestLock:
    def test_one_at_a_time(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        layout = StateLayout(tmp_path)
        with state_lock(layout, Deadline(PATIENCE_S), ConsoleProgress()):
            second = state_lock(layout, Deadline(0.1), ConsoleProgress())
            with pytest.raises(ClusterError, match="another `cluster up` or `down` still uses"), second:
                pass
            assert "waiting" in capsys.readouterr().err
        with state_lock(layout, Deadline(0), ConsoleProgress()):
            pass

    def test_waits_for_the_other_even_when_it_removes_the_folder(self, tmp_path: Path) -> None:
        layout = StateLayout(tmp_path / "state")
        entered = threading.Event()

        def other() -> None:
            with state_lock(layout, Deadline(PATIENCE_S), ConsoleProgress()):
                entered.set()

        with state_lock(layout, Deadline(PATIENCE_S), ConsoleProgress()):
            thread = threading.Thread(target=other)
            thread.start()
            time.sleep(0.2)
            assert not entered.is_set()
            (layout.state / "node1").mkdir()
            layout.write_mark()
            remove_state(layout)
        thread.join()
        assert entered.is_set()
        assert [*layout.state.iterdir()] == [layout.lock]

    def test_what_begins_between_the_removal_of_lock_and_folder_keeps_both(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        layout = StateLayout(tmp_path / "state")
        remove = os.rmdir

        def late(folder: Path) -> None:
            layout.lock.touch()
            remove(folder)

        with state_lock(layout, Deadline(0), ConsoleProgress()):
            layout.write_mark()
            monkeypatch.setattr(os, "rmdir", late)
            remove_state(layout)
        assert layout.lock.exists()

    def test_folder_that_no_start_has_made_is_neither_used_nor_removed(self, tmp_path: Path) -> None:
        layout = StateLayout(tmp_path)
        (tmp_path / "thesis").mkdir(mode=0o755)
        with state_lock(layout, Deadline(0), ConsoleProgress()):
            with pytest.raises(ClusterError, match="has other files"):
                layout.create(())
            with pytest.raises(ClusterError, match="remove it by hand"):
                remove_state(layout)
        assert {path.name for path in tmp_path.iterdir()} == {"thesis", "lock"}

    @pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make a folder of another user")
    def test_folder_of_another_user_is_not_used(self, tmp_path: Path) -> None:
        os.chown(tmp_path, 65534, 65534)
        with pytest.raises(ClusterError, match="another user's"):
            StateLayout(tmp_path).create(())

    def test_folder_of_a_start_is_used_again_and_removed(self, tmp_path: Path) -> None:
        layout = StateLayout(tmp_path / "state")
        with state_lock(layout, Deadline(0), ConsoleProgress()):
            layout.create(())
            layout.create(("node1",))
            remove_state(layout)
        assert not layout.state.exists()

    def test_a_folder_that_goes_before_the_lock_is_made_is_made_again(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        layout = StateLayout(tmp_path / "state")
        make, gone = Path.mkdir, iter([True])

        def removed_at_once(folder: Path, *how: Any, **more: Any) -> None:
            make(folder, *how, **more)
            if next(gone, False):
                folder.rmdir()

        monkeypatch.setattr(Path, "mkdir", removed_at_once)
        with state_lock(layout, Deadline(0), ConsoleProgress()):
            assert layout.lock.exists()


class TestNodesState:
    def test_sinfo(self) -> None:
        lost = "node2|down*|Not responding | really"
        text = f"cpu|node1|idle|none\nscratch|node1|idle|none\ngpu|{lost}\nscratch|{lost}\n"
        assert parse_sinfo(text) == [
            ClusterNode("node1", "idle", "cpu,scratch", ""),
            ClusterNode("node2", "down*", "gpu,scratch", "Not responding | really"),
        ]

    @pytest.mark.parametrize(
        ("state", "in_service", "held_back", "lost"),
        [
            ("idle", True, False, False),
            ("allocated", True, False, False),
            ("mixed-", True, False, False),
            ("idle*", False, False, False),
            ("unknown*", False, False, False),
            ("drained", False, True, False),
            ("down", False, True, False),
            ("down*", False, True, True),
        ],
    )
    def test_states(self, state: str, in_service: bool, held_back: bool, lost: bool) -> None:
        node = ClusterNode("node1", state, "cpu", "")
        assert (node.in_service, node.is_held_back, node.is_lost) == (in_service, held_back, lost)


class TestWrappers:
    STATE = 'it\'s a "folder" $(exit 9)'

    def write(self, tmp_path: Path) -> tuple[StateLayout, Path]:
        layout = StateLayout(tmp_path / self.STATE)
        layout.create(())
        script = layout.bin / "squeue"
        write_whole(script, wrappers.render_wrapper("squeue", "/bin/echo", layout, False, Path("/x/cluster")), 0o755)
        return layout, script

    def assert_not_up(self, script: Path) -> None:
        result = subprocess.run([script], capture_output=True, text=True, check=False)
        assert result.returncode == 1
        assert result.stdout == ""
        assert re.fullmatch(
            r"squeue: the embedded cluster in .* is not up: run /x/cluster up --state .*\n", result.stderr
        )

    def test_says_that_the_cluster_is_not_up(self, tmp_path: Path) -> None:
        _, script = self.write(tmp_path)
        self.assert_not_up(script)

    @pytest.mark.parametrize("text", ["", "\n", "x y z\n", "1\n"])
    def test_damaged_pid_file(self, tmp_path: Path, text: str) -> None:
        layout, script = self.write(tmp_path)
        layout.init_pid("login").write_text(text)
        self.assert_not_up(script)

    def test_a_reused_pid_is_not_entered(self, tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
        layout, script = self.write(tmp_path)
        process = identity(sleeper)
        for stale in (
            ProcessId(process.pid, process.start_ticks + 1, process.boot),
            ProcessId(process.pid, process.start_ticks, boot_id()[::-1]),
        ):
            stale.write(layout.init_pid("login"))
            self.assert_not_up(script)

    def test_user_namespace_is_entered_when_there_is_one(self, tmp_path: Path) -> None:
        layout = StateLayout(tmp_path)
        assert " --user " in wrappers.render_wrapper("sinfo", "/bin/true", layout, True, Path("c"))
        assert " --user " not in wrappers.render_wrapper("sinfo", "/bin/true", layout, False, Path("c"))
        assert f"& {EXITING}" in wrappers.render_wrapper("sinfo", "/bin/true", layout, False, Path("c"))

    def test_wrappers_on_path_are_not_taken_for_the_program(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        layout, script = self.write(tmp_path)
        monkeypatch.setenv("PATH", f"{layout.bin}")
        found = wrappers.find_program("squeue")
        assert found != str(script)
        (tmp_path / "real").mkdir()
        write_whole(tmp_path / "real" / "squeue", "#!/bin/sh\n", 0o755)
        monkeypatch.setenv("PATH", f"{layout.bin}:{tmp_path / 'real'}")
        assert wrappers.find_program("squeue") == str(tmp_path / "real" / "squeue")


class TestPrecheck:
    def test_missing_programs_name_their_packages(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(start, "find_program", lambda name: None if name in ("tini", "slurmdbd") else name)
        with pytest.raises(ClusterError, match=r"missing programs: slurmdbd, tini; .* tini$") as caught:
            start.check_programs(accounting=True)
        assert "slurmdbd tini" in str(caught.value)
        with pytest.raises(ClusterError, match="missing programs: tini;"):
            start.check_programs(accounting=False)

    @pytest.mark.parametrize("folder", ["/scratch/x", "/shared", "/dev/shm/x"])
    def test_state_below_a_replaced_folder(self, folder: str) -> None:
        with pytest.raises(ClusterError, match="is below"):
            start.check_place(Path(folder))

    def test_no_rights_at_all(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
        monkeypatch.setattr(start, "find_program", lambda name: name)
        monkeypatch.setattr(start, "_unshare_works", lambda flags: "unshare: Operation not permitted")
        with pytest.raises(ClusterError, match="run this as root, or enable user namespaces"):
            start.needs_user_namespace()


def test_the_cluster_needs_nothing_but_the_standard_library() -> None:
    cluster = Path(__file__).parents[2] / "site_configs/embedded/cluster"
    # Ignore installed packages (-S) and PYTHONPATH (-E).
    done = subprocess.run([sys.executable, "-S", "-E", cluster, "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
