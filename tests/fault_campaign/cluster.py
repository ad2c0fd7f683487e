"""The campaign's own cluster: commands on its nodes, and whether it is healthy."""

import os
import pathlib
import signal
import subprocess
import time
from dataclasses import dataclass

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SITE = REPOSITORY / "site_configs/embedded"
NODES = ("node1", "node2", "node3", "node4")
COMMAND_SECONDS = 600
ENDING_SECONDS = 10


class CampaignError(RuntimeError):
    """The campaign cannot go on; the message says what to look at."""


@dataclass(frozen=True)
class Cluster:
    """A cluster with its state in ``state`` and results in ``results``."""

    state: pathlib.Path
    results: pathlib.Path

    def environment(self) -> dict[str, str]:
        own = {"KAPPA_CLUSTER_STATE": str(self.state), "KAPPA_RESULTS": str(self.results)}
        return {**os.environ, **own}

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(SITE / "cluster"), *arguments],
            env=self.environment(), capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False,
        )  # fmt: skip

    def on(self, place: str, script: str, *arguments: str) -> str:
        """Standard output of a shell script run in the namespaces of a place; ``arguments`` are its ``$1`` and on.

        :raises CampaignError: its exit status is not 0.
        """
        done = self.command("exec", place, "bash", "-c", f"set -euo pipefail; {script}", "bash", *arguments)
        if done.returncode != 0:
            raise CampaignError(f"on {place}: {script}: {done.stderr.strip() or f'exit status {done.returncode}'}")
        return done.stdout

    def init_pid(self, node: str) -> int:
        """Process id on the host of the first process of a node's namespaces."""
        return int((self.state / f"run/{node}.pid").read_text(encoding="ascii").split()[0])

    def end_node(self, node: str) -> None:
        """End all processes and namespaces of a node, as when it loses its power; `make_healthy` starts it anew."""
        if self._runs(node):
            os.kill(self.init_pid(node), signal.SIGKILL)
        deadline = time.monotonic() + ENDING_SECONDS
        while self._runs(node) and time.monotonic() < deadline:
            time.sleep(0.01)

    def _runs(self, node: str) -> bool:
        """Whether the process of the node's file runs: the file names the ticks at which it was started, too."""
        init, started, _ = (self.state / f"run/{node}.pid").read_text(encoding="ascii").split()
        try:
            stat = pathlib.Path(f"/proc/{init}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return False
        fields = stat.rpartition(")")[2].split()
        return fields[0] != "Z" and fields[19] == started

    def pids(self, node: str, program: str | None = None, subcommand: str = "") -> list[int]:
        """Process ids on the host of a node's processes, or of those with the name ``program`` and this subcommand."""
        namespace = os.stat(f"/proc/{self.init_pid(node)}/ns/pid").st_ino
        found = []
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                name = (folder / "comm").read_text(encoding="utf-8", errors="replace").strip()
                words = (folder / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
                chosen = program in (None, name) and (not subcommand or words[1:2] == [subcommand])
                if chosen and (folder / "ns/pid").stat().st_ino == namespace:
                    found.append(int(folder.name))
            except OSError:
                continue  # it has ended
        return found

    def await_down(self, node: str, seconds: float) -> None:
        """Wait until Slurm has noticed that a node is lost, at most so long."""
        deadline = time.monotonic() + seconds
        while "down" not in self.on("login", f"sinfo -h -n {node} -o %T") and time.monotonic() < deadline:
            time.sleep(1)

    def make_healthy(self) -> None:
        """Start what does not run.

        :raises CampaignError: something is wrong still.
        """
        started = self.command("up")
        if started.returncode != 0:
            raise CampaignError(f"the cluster cannot be mended: {started.stderr.strip()}")
        status = self.command("status", "--json")
        if status.returncode != 0:
            raise CampaignError(f"the cluster is not healthy: {status.stdout.strip()}")

    def end(self) -> None:
        self.command("down", "--purge")
