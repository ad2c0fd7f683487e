"""Bring a cluster up, or bring back what is missing of one."""

import signal
import time
from concurrent.futures import Future, ThreadPoolExecutor, wait

from kappa.embedded_cluster.console import ClusterError, Deadline, Progress, failure
from kappa.embedded_cluster.daemons import (
    Daemon,
    find_process,
    is_ready,
    login_daemons,
    node_daemons,
    start_daemon,
    stop_daemon,
)
from kappa.embedded_cluster.database import create_database, set_aside
from kappa.embedded_cluster.instance import Instance
from kappa.embedded_cluster.layout import LOGIN
from kappa.embedded_cluster.light_nodes import start_light_nodes
from kappa.embedded_cluster.namespaces import start_login, start_node
from kappa.embedded_cluster.queries import NodeState, cancel_all_jobs, no_jobs, query_nodes

_DATABASE_DAEMONS = ("mariadbd", "slurmdbd")


def _few(what: list[str]) -> str:
    """What to show of a list that may have hundreds of entries."""
    more = [f"and {len(what) - 8} more"] if len(what) > 8 else []
    return ", ".join([*what[:8], *more]) or "no answer"


class Starter:
    """Starts every part that does not run; `started` names them afterwards."""

    def __init__(self, instance: Instance, progress: Progress, deadline: Deadline) -> None:
        self._instance = instance
        self._is_new = instance.init_of(LOGIN) is None
        self._progress = progress
        self._deadline = deadline
        self.started: list[str] = []

    def run(self) -> None:
        """Start what is missing and wait until the cluster takes jobs.

        Raises ClusterError with the end of the log of the part that failed.
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
        """End each node that runs but is cut off (link, key, hung daemon), so that it starts afresh."""
        for node in query_nodes(self._instance):
            init = self._instance.init_of(node.name)
            if node.is_lost and init and find_process(self._instance, node_daemons(self._instance, node.name)[-1]):
                self._progress.say(f"{node.name} runs but slurmctld cannot reach it: starting it afresh")
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
                self._progress.say(f"jobs left by a cluster that was not taken down in order: {cancelled} cancelled")
        elif "slurmctld" in self.started:
            # Makes every slurmd report at once, not at its next turn.
            self._instance.run_in(LOGIN, ["scontrol", "reconfigure"])

    def _ensure_node(self, node: str, controller: "Future[None]") -> None:
        if self._instance.init_of(node) is None:
            since = time.monotonic()
            start_node(self._instance, node, self._deadline)
            self._note(f"{node} namespaces", since)
        munged, slurmd = node_daemons(self._instance, node)
        self._ensure_daemon(munged)
        # A slurmd that finds no controller tries again seconds later only.
        wait([controller])
        if controller.exception() is None:
            self._ensure_daemon(slurmd)

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
        # One that hangs would hold its port.
        stop_daemon(self._instance, daemon, timeout_s=10)
        start_daemon(self._instance, daemon, self._deadline)
        self._note(daemon.name, since)

    def _ensure_database_daemon(self, daemon: Daemon) -> None:
        """Start MariaDB or slurmdbd; when the database prevents that, start afresh with an empty one."""
        try:
            self._ensure_daemon(daemon)
        except ClusterError as error:
            if self._deadline.remaining_s() == 0:
                raise
            mariadbd, slurmdbd = (d for d in login_daemons(self._instance) if d.program in _DATABASE_DAEMONS)
            stop_daemon(self._instance, slurmdbd, timeout_s=10)
            stop_daemon(self._instance, mariadbd, timeout_s=10)
            aside = set_aside(self._instance.layout)
            self._progress.say(f"the accounting database cannot be used, so it moves to {aside}; reason: {error}")
            create_database(self._instance.layout)
            self._ensure_daemon(mariadbd)
            if daemon.program == "slurmdbd":
                self._ensure_daemon(slurmdbd)

    def _await_ready(self) -> None:
        """Wait until all nodes are in service and, with accounting, sacct answers."""
        since = time.monotonic()
        resumed: set[str] = set()
        nodes: list[NodeState] = []

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
                f"sacct gave no answer within {self._deadline.timeout_s:.0f} s",
                self._instance.layout.log_of("slurmdbd"),
            )
        if self._is_new and not self._deadline.poll(lambda: no_jobs(self._instance), interval_s=0.1):
            raise failure("jobs of the cluster before did not end", self._instance.layout.log_of("slurmctld"))
        self._progress.step(f"{len(nodes)} nodes in service", since)

    def _accounting_answers(self) -> bool:
        """Whether slurmdbd knows the cluster's controller and answers questions about jobs."""
        known = self._instance.run_in(LOGIN, ["sacctmgr", "-nP", "show", "cluster", "format=ControlHost"])
        jobs = self._instance.run_in(LOGIN, ["sacct", "--noheader", "--allocations"])
        return known.stdout.strip() != "" and jobs.returncode == 0

    def _resume(self, node: NodeState) -> None:
        """Return a node to service that Slurm holds back; a node that is still starting returns by itself."""
        result = self._instance.run_in(LOGIN, ["scontrol", "update", f"NodeName={node.name}", "State=RESUME"])
        if result.returncode == 0:
            self.started.append(f"{node.name} (was {node.state})")
            self._progress.say(f"{node.name} was {node.state} ({node.reason or 'no reason given'}): resumed")
