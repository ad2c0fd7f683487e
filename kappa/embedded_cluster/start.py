"""`cluster up`: check that a cluster can run here, then start a new one, or restart the dead parts of a running one."""

import os
import secrets
import shutil
import signal
import subprocess
import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from kappa.embedded_cluster.console import ClusterError, ConsoleProgress, Deadline, failure
from kappa.embedded_cluster.daemons import (
    Daemon,
    create_database,
    find_process,
    is_ready,
    login_daemons,
    node_daemons,
    set_aside,
    start_daemon,
    stop_daemon,
)
from kappa.embedded_cluster.instance import DAEMON_ENVIRONMENT, LOGIN_INIT_SCRIPT, Instance, find_outer, state_lock
from kappa.embedded_cluster.layout import INSIDE, LOGIN, ClusterOptions, StateLayout, find_gpu_devices, write_whole
from kappa.embedded_cluster.namespaces import check_memory, start_light_nodes, start_login, start_node
from kappa.embedded_cluster.render import (
    render_bridges,
    render_gres_conf,
    render_hosts,
    render_mpi_conf,
    render_slurm_conf,
    render_slurmdbd_conf,
    render_topology_conf,
)
from kappa.embedded_cluster.status import ClusterNode, cancel_all_jobs, no_jobs, query_nodes
from kappa.embedded_cluster.stop import stop_cluster
from kappa.embedded_cluster.wrappers import SLURM_COMMANDS, find_program, write_wrappers

_PACKAGES = {
    **dict.fromkeys(SLURM_COMMANDS, "slurm-client"),
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "munged": "munge",
    "tini": "tini",
    "ip": "iproute2",
    "mkfs.ext4": "e2fsprogs",
    "mount": "mount",
    "losetup": "mount",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "setpriv": "util-linux",
}
_ACCOUNTING_PACKAGES = {"slurmdbd": "slurmdbd", "mariadbd": "mariadb-server-core"}
# The cluster has its own versions of these folders, so the host's files below them are not visible in it.
_OWN_FOLDERS = [Path(name) for name in ("/scratch", "/shared", "/proc", "/sys", "/dev", "/run")]
_NAMESPACES = ["--mount", "--net", "--pid", "--uts", "--ipc", "--fork"]
_DATABASE_DAEMONS = ("mariadbd", "slurmdbd")


def check_programs(accounting: bool) -> None:
    """Check that all programs are installed.

    :raises ClusterError: programs are missing. The message names them and their Debian packages.
    """
    needed = _PACKAGES | (_ACCOUNTING_PACKAGES if accounting else {})
    missing = {program: package for program, package in needed.items() if find_program(program) is None}
    if missing:
        raise ClusterError(
            f"missing programs: {', '.join(sorted(missing))}; "
            f"install them with: apt-get install --no-install-recommends {' '.join(sorted(set(missing.values())))}"
        )
    if not Path("/etc/slurm").is_dir():
        raise ClusterError("there is no folder /etc/slurm: install the Debian package slurm-client")


def check_place(state: Path) -> None:
    """Check that the state folder can be used.

    :raises ClusterError: it cannot.
    """
    if INSIDE.exists():
        raise ClusterError("this shell is inside an embedded cluster: run `cluster` on the host")
    for path, what in ((state, "the state folder"), (LOGIN_INIT_SCRIPT, "this program")):
        for folder in _OWN_FOLDERS:
            if path.is_relative_to(folder):
                raise ClusterError(f"{what} {path} is below {folder}, which the cluster replaces: use another folder")
    existing = next(folder for folder in (state, *state.parents) if folder.exists())
    if not os.access(existing, os.W_OK | os.X_OK):
        raise ClusterError(f"{state} is not writable: choose another folder with --state or KAPPA_CLUSTER_STATE")


def needs_user_namespace() -> bool:
    """Return whether a user namespace is needed; False for root with all rights.

    :raises ClusterError: this user can make no namespaces.
    """
    if os.geteuid() == 0 and _unshare_works([]) is None:
        return False
    if find_program("newuidmap") is None:
        raise ClusterError("this user cannot make namespaces: install the Debian package uidmap, or run this as root")
    refusal = _unshare_works(["--user", "--map-auto", "--map-root-user"])
    if refusal is not None:
        raise ClusterError(
            f"this user cannot make namespaces ({refusal}): run this as root, or enable user namespaces in the kernel "
            "and give this user a range in /etc/subuid and /etc/subgid"
        )
    return True


def _unshare_works(user_flags: list[str]) -> str | None:
    """Return None if the namespaces can be made, otherwise the message of unshare."""
    command = ["unshare", *user_flags, *_NAMESPACES, "true"]
    result = subprocess.run(command, env=DAEMON_ENVIRONMENT, capture_output=True, text=True, check=False)
    return None if result.returncode == 0 else (result.stderr.strip() or f"exit status {result.returncode}")


def _few(what: list[str]) -> str:
    """Return the first eight entries of a list that may have hundreds."""
    more = [f"and {len(what) - 8} more"] if len(what) > 8 else []
    return ", ".join([*what[:8], *more]) or "no answer"


class Starter:
    """Start every part that does not run. `started` names them afterwards."""

    def __init__(self, instance: Instance, progress: ConsoleProgress, deadline: Deadline) -> None:
        self._instance = instance
        self._is_new = instance.init_of(LOGIN) is None
        self._progress = progress
        self._deadline = deadline
        self.started: list[str] = []

    def run(self) -> None:
        """Start the missing parts, and wait until the cluster accepts jobs.

        :raises ClusterError: a part failed. The message has the last lines of its log.
        """
        if not self._is_new:
            self._end_lost_nodes()
        options = self._instance.options
        with ThreadPoolExecutor(max_workers=(1 if options.light else options.nodes) + 2) as pool:
            database = pool.submit(self._ensure_database_files) if options.accounting else None
            if self._is_new:
                since = time.monotonic()
                start_login(self._instance, self._deadline)
                self._note("login namespace", since)
            controller = pool.submit(self._ensure_login_daemons, database)
            if options.light:
                nodes = [pool.submit(self._ensure_light_nodes, controller)]
            else:
                nodes = [pool.submit(self._ensure_node, node, controller) for node in options.node_names]
            for part in (controller, *nodes):
                part.result()
        self._await_ready()

    def _end_lost_nodes(self) -> None:
        """End each node that runs but is cut off (link, key, hung daemon), so that it starts again."""
        for node in query_nodes(self._instance):
            init = self._instance.init_of(node.name)
            if node.is_lost and init and find_process(self._instance, node_daemons(self._instance, node.name)[-1]):
                self._progress.say(f"{node.name} runs, but slurmctld cannot reach it: restarting it")
                init.send(signal.SIGKILL)
                init.wait_gone(self._deadline.remaining_s())

    def _note(self, what: str, since: float) -> None:
        self.started.append(what)
        self._progress.step(what, since)

    def _ensure_database_files(self) -> None:
        since = time.monotonic()
        if create_database(self._instance.layout):
            self._progress.step("accounting database created", since)

    def _ensure_login_daemons(self, database: "Future[None] | None") -> None:
        for daemon in login_daemons(self._instance):
            if database and daemon.program == "mariadbd":
                database.result()
            if daemon.program in _DATABASE_DAEMONS:
                self._ensure_database_daemon(daemon)
            else:
                self._ensure_daemon(daemon)
        if self._is_new:
            cancelled = cancel_all_jobs(self._instance, self._deadline.remaining_s() + 1)
            if cancelled:
                self._progress.say(f"{cancelled} jobs of an earlier cluster cancelled, which was not stopped properly")
        elif "slurmctld" in self.started:
            # Makes every slurmd report now, not at its next interval.
            self._instance.run_in(LOGIN, ["scontrol", "reconfigure"])

    def _ensure_node(self, node: str, controller: "Future[None]") -> None:
        if self._instance.init_of(node) is None:
            since = time.monotonic()
            start_node(self._instance, node, self._deadline)
            self._note(f"{node} namespaces", since)
        munged, *others = node_daemons(self._instance, node)
        self._ensure_daemon(munged)
        # A slurmd that finds no controller waits for seconds before it tries again.
        wait([controller])
        if controller.exception() is None:
            for daemon in others:
                self._ensure_daemon(daemon)

    def _ensure_light_nodes(self, controller: "Future[None]") -> None:
        wait([controller])
        missing = [node for node in self._instance.options.node_names if self._instance.init_of(node) is None]
        if missing and controller.exception() is None:
            since = time.monotonic()
            start_light_nodes(self._instance, missing, self._deadline)
            self._note(f"{len(missing)} light nodes" if len(missing) > 1 else missing[0], since)

    def _ensure_daemon(self, daemon: Daemon) -> None:
        init = self._instance.init_of(daemon.place)
        if init and is_ready(daemon, init) and find_process(self._instance, daemon):
            return
        since = time.monotonic()
        # A hung daemon would keep its port.
        stop_daemon(self._instance, daemon, timeout_s=10)
        start_daemon(self._instance, daemon, self._deadline)
        self._note(daemon.name, since)

    def _ensure_database_daemon(self, daemon: Daemon) -> None:
        """Start MariaDB or slurmdbd. If the database prevents that, start with an empty one."""
        try:
            self._ensure_daemon(daemon)
        except ClusterError as error:
            if self._deadline.remaining_s() == 0:
                raise
            mariadbd, slurmdbd = (d for d in login_daemons(self._instance) if d.program in _DATABASE_DAEMONS)
            stop_daemon(self._instance, slurmdbd, timeout_s=10)
            stop_daemon(self._instance, mariadbd, timeout_s=10)
            aside = set_aside(self._instance.layout)
            self._progress.say(f"the accounting database cannot be used: moved to {aside}; reason: {error}")
            create_database(self._instance.layout)
            self._ensure_daemon(mariadbd)
            if daemon.program == "slurmdbd":
                self._ensure_daemon(slurmdbd)

    def _await_ready(self) -> None:
        """Wait until all nodes are in service, and sacct answers, if there is accounting."""
        since = time.monotonic()
        resumed: set[str] = set()
        nodes: list[ClusterNode] = []

        def nodes_ready() -> bool:
            nodes[:] = query_nodes(self._instance)
            for node in nodes:
                if node.is_held_back and not node.is_lost and node.name not in resumed:
                    resumed.add(node.name)
                    self._resume(node)
            return len(nodes) == self._instance.options.nodes and all(node.in_service for node in nodes)

        if not self._deadline.poll(nodes_ready, interval_s=0.1):
            seen = _few([f"{node.name} {node.state} {node.reason}".rstrip() for node in nodes if not node.in_service])
            raise failure(
                f"the nodes were not ready within {self._deadline.timeout_s:.0f} s: {seen}",
                self._instance.layout.log_of("slurmctld"),
            )
        if self._instance.options.accounting and not self._deadline.poll(self._accounting_answers, interval_s=0.1):
            raise failure(
                f"sacct did not answer within {self._deadline.timeout_s:.0f} s",
                self._instance.layout.log_of("slurmdbd"),
            )
        if self._is_new and not self._deadline.poll(lambda: no_jobs(self._instance), interval_s=0.1):
            raise failure("jobs of an earlier cluster did not end", self._instance.layout.log_of("slurmctld"))
        self._progress.step(f"{len(nodes)} nodes in service", since)

    def _accounting_answers(self) -> bool:
        """Return whether slurmdbd knows the cluster's controller and answers questions about jobs."""
        known = self._instance.run_in(LOGIN, ["sacctmgr", "-nP", "show", "cluster", "format=ControlHost"])
        jobs = self._instance.run_in(LOGIN, ["sacct", "--noheader", "--allocations"])
        return known.stdout.strip() != "" and jobs.returncode == 0

    def _resume(self, node: ClusterNode) -> None:
        """Resume a node that Slurm has down or drained. A node that is still starting needs no resume."""
        result = self._instance.run_in(LOGIN, ["scontrol", "update", f"NodeName={node.name}", "State=RESUME"])
        if result.returncode == 0:
            self.started.append(f"{node.name} (was {node.state})")
            self._progress.say(f"{node.name} was {node.state} ({node.reason or 'no reason given'}): resumed")


def bring_up(
    layout: StateLayout, wanted: dict[str, Any], timeout_s: float, progress: ConsoleProgress, manager: Path
) -> None:
    """Start the cluster, or restart its dead parts. `wanted`: the user's options.

    :raises ClusterError: that failed. A new cluster is then stopped again.
    """
    check_place(layout.state)
    deadline = Deadline(timeout_s)
    with state_lock(layout, deadline, progress):
        instance = Instance.load(layout)
        if instance and instance.init_of(LOGIN):
            _heal(instance, wanted, deadline, progress)
        else:
            _start_new(layout, ClusterOptions(**wanted), deadline, progress, manager)


def _heal(instance: Instance, wanted: dict[str, Any], deadline: Deadline, progress: ConsoleProgress) -> None:
    conflicts = instance.options.conflicts(wanted)
    if conflicts:
        raise ClusterError(
            f"a cluster with other options is up in {instance.layout.state}: {'; '.join(conflicts)}: "
            "stop it first (`cluster down`), or choose another --state"
        )
    starter = Starter(instance, progress, deadline)
    starter.run()
    if starter.started:
        progress.say(f"the cluster was already up; restarted: {', '.join(starter.started)}")
    else:
        progress.say("already up")


def _start_new(
    layout: StateLayout, options: ClusterOptions, deadline: Deadline, progress: ConsoleProgress, manager: Path
) -> None:
    check_programs(options.accounting)
    rootless = needs_user_namespace()
    if rootless and options.scratch_fs == "ext4":
        raise ClusterError("--scratch-fs ext4 needs root for loop devices: use tmpfs or auto")
    if find_outer(layout) or layout.run.exists():
        # Remains of a crash, or of a killed start.
        stop_cluster(layout, progress)
    if options.light:
        check_memory(options.nodes)
    instance = Instance(layout, options, rootless, find_gpu_devices())
    try:
        _write_files(instance, manager)
        Starter(instance, progress, deadline).run()
    except BaseException:
        progress.say("the start failed: stopping the started parts")
        stop_cluster(layout, progress)
        raise
    progress.say(f"ready: {options.nodes} nodes")


def _write_files(instance: Instance, manager: Path) -> None:
    layout, options = instance.layout, instance.options
    if layout.log.exists():
        previous = layout.log.with_name("log.previous")
        shutil.rmtree(previous, ignore_errors=True)
        layout.log.rename(previous)
    layout.create(options.node_names)
    if not layout.munge_key.exists():
        write_whole(layout.munge_key, secrets.token_hex(64), 0o600)
    memory_mib = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
    write_whole(layout.etc / "hosts", render_hosts(options))
    write_whole(layout.etc / "switches", render_bridges(options))
    write_whole(layout.slurm_etc / "topology.conf", render_topology_conf(options))
    write_whole(layout.slurm_etc / "slurm.conf", render_slurm_conf(options, instance.gpu_devices, memory_mib))
    write_whole(layout.slurm_etc / "gres.conf", render_gres_conf(options, instance.gpu_devices))
    write_whole(layout.slurm_etc / "mpi.conf", render_mpi_conf())
    write_whole(layout.slurm_etc / "slurmdbd.conf", render_slurmdbd_conf(), 0o600)
    write_wrappers(layout, instance.rootless, manager)
    instance.save()
