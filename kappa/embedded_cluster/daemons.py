"""Start, find and stop the daemons of a cluster, and make their database.

The accounting database is a separate, small MariaDB, which only a Unix socket reaches.
"""

import dataclasses
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from kappa.embedded_cluster.console import ClusterError, Deadline, failure
from kappa.embedded_cluster.instance import DAEMON_ENVIRONMENT, Instance
from kappa.embedded_cluster.layout import INSIDE, LOGIN, StateLayout
from kappa.embedded_cluster.processes import MemberProcess, ProcessId, members
from kappa.embedded_cluster.render import backup_place, slurmd_port
from kappa.embedded_cluster.wrappers import find_program

# Files of MariaDB 10, and of MariaDB 11 since Debian 13.
_SYSTEM_TABLES = tuple(
    tuple(Path("/usr/share", f"{folder}_system_tables{part}.sql") for part in ("", "_data"))
    for folder in ("mysql/mysql", "mariadb/mysql", "mariadb/mariadb")
)
# The format of the files, which must be equal for all starts.
_FILE_OPTIONS = [
    "--innodb-data-file-path=ibdata1:4M:autoextend",
    "--innodb-autoextend-increment=4",
    "--innodb-undo-tablespaces=0",
    "--innodb-temp-data-file-path=ibtmp1:2M:autoextend",
    "--innodb-log-file-size=8M",
    "--innodb-doublewrite=0",
    "--innodb-buffer-pool-size=16M",
    "--aria-pagecache-buffer-size=1M",
    "--aria-log-file-size=8M",
    "--key-buffer-size=1M",
    "--skip-log-bin",
    "--skip-networking",
    "--loose-performance-schema=off",
]
MUNGE_SOCKET = "/run/munge/munge.socket.2"
MARIADB_SOCKET = "/run/mysqld/mysqld.sock"
# A daemon forks into the background. A single look at /proc may miss both parent and child.
_GONE_AFTER_S = 1.0


def mariadbd_command() -> list[str]:
    """Return the options of mariadbd(8) in the cluster."""
    return [
        "--no-defaults",
        "--user=root",
        f"--datadir={INSIDE}/database",
        f"--tmpdir={INSIDE}/database.tmp",
        f"--log-error={INSIDE}/log/mariadbd.log",
        "--socket=/run/mysqld/mysqld.sock",
        "--pid-file=/run/mysqld/mysqld.pid",
        *_FILE_OPTIONS,
        # A killed process loses nothing; a machine that crashes loses at most the last second.
        "--innodb-flush-log-at-trx-commit=2",
        "--innodb-lock-wait-timeout=900",
        "--skip-name-resolve",
        "--max-connections=30",
        "--table-open-cache=200",
    ]


def create_database(layout: StateLayout) -> bool:
    """Make the database's system tables if there are none. Return whether that was needed.

    The folder gets its final name only when complete. Source of the statements: mariadb-install-db(1), which does the
    same in many seconds.
    """
    if layout.database.exists():
        return False
    sql = next((files for files in _SYSTEM_TABLES if files[0].exists()), None)
    mariadbd = find_program("mariadbd")
    if sql is None or mariadbd is None:
        raise ClusterError("the files of MariaDB's server are missing: install the Debian package mariadb-server-core")
    statements = "create database mysql;\nuse mysql;\nset @auth_root_socket='root';\nset @skip_auth_anonymous=1;\n"
    statements += "".join(file.read_text() for file in sql)
    unfinished = layout.database.with_suffix(".new")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(mode=0o700)
    as_root = ["--user=root"] if os.geteuid() == 0 else []
    folders = [f"--datadir={unfinished}", f"--tmpdir={layout.database_scratch}"]
    command = [mariadbd, "--no-defaults", "--bootstrap", *as_root, *folders, *_FILE_OPTIONS]
    # After a crash, the start begins again, so no write needs to wait for the disk.
    command += ["--loose-innodb-flush-method=nosync", "--innodb-flush-log-at-trx-commit=0"]
    result = subprocess.run(command, input=statements, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise ClusterError(f"the accounting database could not be created:\n{result.stderr[-2000:]}")
    unfinished.rename(layout.database)
    return True


def set_aside(layout: StateLayout) -> Path:
    """Rename a database that cannot be used, and return its new path."""
    aside = layout.state / time.strftime("database.damaged-%Y%m%d-%H%M%S")
    layout.database.rename(aside)
    return aside


@dataclasses.dataclass(frozen=True)
class Daemon:
    """A daemon in one place. It is ready when its TCP port or Unix socket accepts connections."""

    program: str
    place: str
    arguments: tuple[str, ...]
    port: int | None = None
    socket: str | None = None
    detaches: bool = True  # goes into the background

    @property
    def name(self) -> str:
        """Return the name, with the place if there are several: slurmctld, slurmd-node1."""
        alone = self.place == LOGIN and self.program != "munged"
        return self.program if alone else f"{self.program}-{self.place}"


def _munged(place: str) -> Daemon:
    options = (
        # munged would refuse the modes of the user's folders above the log.
        "--force",
        "--key-file=/run/munge/munge.key",
        "--seed-file=/run/munge/munged.seed",
        f"--log-file={INSIDE}/log/munged-{place}.log",
    )
    return Daemon("munged", place, options, socket=MUNGE_SOCKET)


def login_daemons(instance: Instance) -> list[Daemon]:
    """Return the daemons of the login namespace, in the order of their start."""
    daemons = [_munged(LOGIN)]
    if instance.options.accounting:
        daemons += [
            Daemon("mariadbd", LOGIN, tuple(mariadbd_command()), socket=MARIADB_SOCKET, detaches=False),
            Daemon("slurmdbd", LOGIN, (), port=6819),
        ]
    # -i: ignore saved state that a crash has damaged.
    return [*daemons, Daemon("slurmctld", LOGIN, ("-i",), port=6817)]


def node_daemons(instance: Instance, node: str) -> list[Daemon]:
    # -b: jobs that ran when this node was lost do not run any more.
    slurmd = Daemon("slurmd", node, ("-b",), port=slurmd_port(node, instance.options))
    if instance.options.light:
        return [slurmd]
    log = f"{INSIDE}/log/slurmctld-{node}.log"
    backup = [Daemon("slurmctld", node, ("-L", log), port=6817)] if node == backup_place(instance.options) else []
    return [_munged(node), *backup, slurmd]


def all_daemons(instance: Instance) -> list[Daemon]:
    return login_daemons(instance) + [d for node in instance.options.node_names for d in node_daemons(instance, node)]


def process_of(daemon: Daemon, processes: list[MemberProcess]) -> ProcessId | None:
    """Return the daemon's oldest process in the cluster; None if it does not run."""
    found = [p.process for p in processes if p.place == daemon.place and p.name == daemon.program]
    return min(found, key=lambda process: process.start_ticks, default=None)


def find_process(instance: Instance, daemon: Daemon) -> ProcessId | None:
    init = instance.init_of(daemon.place)
    return process_of(daemon, members({daemon.place: init})) if init else None


def _listens(init: ProcessId, port: int) -> bool:
    """Return whether a TCP socket listens on `port` in the network of `init` (proc_pid_net(5), state 0A)."""
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{init.pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port:
                return True
    return False


def _accepts(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(path)
        except OSError:
            return False
    return True


def is_ready(daemon: Daemon, init: ProcessId) -> bool:
    try:
        if daemon.port is not None:
            return _listens(init, daemon.port)
    except OSError:
        return False
    return _accepts(f"/proc/{init.pid}/root{daemon.socket}")


def controller_answers(instance: Instance) -> bool:
    """Return whether slurmctld accepts connections. Without it, Slurm's commands wait for MessageTimeout."""
    login = instance.init_of(LOGIN)
    return login is not None and is_ready(login_daemons(instance)[-1], login)


def start_daemon(instance: Instance, daemon: Daemon, deadline: Deadline) -> None:
    """Start a daemon, and wait until it is ready.

    :raises ClusterError: it failed. The message has the last lines of its log.
    """
    init = instance.init_of(daemon.place)
    if init is None:
        raise ClusterError(f"{daemon.place} ended before {daemon.name} was started in it")
    log = instance.layout.log_of(daemon.name)
    program = find_program(daemon.program)
    if program is None:
        raise ClusterError(f"{daemon.program} is not installed: install its package")
    detach = [] if daemon.detaches else ["setsid", "--fork"]
    command = instance.enter_command(init, [*detach, program, *daemon.arguments])
    with tempfile.TemporaryFile("w+") as output:
        # A file, not a pipe: the daemon may keep a pipe open.
        starter = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=DAEMON_ENVIRONMENT,
            start_new_session=True,
        )
        if not deadline.poll(lambda: starter.poll() is not None, interval_s=0.01):
            starter.kill()
        status = starter.wait()
        output.seek(0)
        said = output.read().strip()
    if status != 0:
        raise failure(f"{daemon.name} did not start (exit status {status}): {said}", log)

    last_seen = time.monotonic()

    def settled() -> bool:
        nonlocal last_seen
        # setsid soon becomes the daemon.
        if any(p.name in (daemon.program, "setsid") for p in members({daemon.place: init})):
            last_seen = time.monotonic()
        elif time.monotonic() - last_seen > _GONE_AFTER_S:
            raise failure(f"{daemon.name} ended while starting", log)
        return is_ready(daemon, init)

    if not deadline.poll(settled):
        raise failure(f"{daemon.name} was not ready within {deadline.timeout_s:.0f} s", log)


def stop_daemon(instance: Instance, daemon: Daemon, timeout_s: float) -> None:
    """Stop a daemon with SIGTERM, or with SIGKILL after `timeout_s`."""
    process = find_process(instance, daemon)
    if process:
        process.send(signal.SIGTERM)
        if not process.wait_gone(timeout_s):
            process.send(signal.SIGKILL)
            process.wait_gone(timeout_s)
