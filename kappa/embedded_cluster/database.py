"""The accounting database: a MariaDB of its own, small, reached by a Unix socket only."""

import os
import shutil
import subprocess
import time
from pathlib import Path

from kappa.embedded_cluster.console import ClusterError
from kappa.embedded_cluster.layout import INSIDE, StateLayout
from kappa.embedded_cluster.wrappers import find_program

# Of MariaDB 10, and of 11 from Debian 13 on.
_SYSTEM_TABLES = tuple(
    tuple(Path("/usr/share", f"{folder}_system_tables{part}.sql") for part in ("", "_data"))
    for folder in ("mysql/mysql", "mariadb/mysql", "mariadb/mariadb")
)
# Format of the files: equal for the first and all later starts.
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


def mariadbd_command() -> list[str]:
    """Options of mariadbd(8) inside the cluster."""
    return [
        "--no-defaults",
        "--user=root",
        f"--datadir={INSIDE}/database",
        f"--tmpdir={INSIDE}/database.tmp",
        f"--log-error={INSIDE}/log/mariadbd.log",
        "--socket=/run/mysqld/mysqld.sock",
        "--pid-file=/run/mysqld/mysqld.pid",
        *_FILE_OPTIONS,
        # A killed process loses nothing, a killed machine at most the last second.
        "--innodb-flush-log-at-trx-commit=2",
        "--innodb-lock-wait-timeout=900",
        "--skip-name-resolve",
        "--max-connections=30",
        "--table-open-cache=200",
    ]


def create_database(layout: StateLayout) -> bool:
    """Make the database's system tables where there are none; True when that was needed.

    The files take their final name only when complete.
    Source of the statements: mariadb-install-db(1), which does the same in many seconds.
    """
    if layout.database.exists():
        return False
    sql = next((files for files in _SYSTEM_TABLES if files[0].exists()), None)
    mariadbd = find_program("mariadbd")
    if sql is None or mariadbd is None:
        raise ClusterError("MariaDB's server files are missing: install the Debian package mariadb-server-core")
    statements = "create database mysql;\nuse mysql;\nset @auth_root_socket='root';\nset @skip_auth_anonymous=1;\n"
    statements += "".join(file.read_text() for file in sql)
    unfinished = layout.database.with_suffix(".new")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(mode=0o700)
    as_root = ["--user=root"] if os.geteuid() == 0 else []
    folders = [f"--datadir={unfinished}", f"--tmpdir={layout.database_scratch}"]
    command = [mariadbd, "--no-defaults", "--bootstrap", *as_root, *folders, *_FILE_OPTIONS]
    # A start that a crash cuts short begins anew, so no write waits for the disk.
    command += ["--loose-innodb-flush-method=nosync", "--innodb-flush-log-at-trx-commit=0"]
    result = subprocess.run(command, input=statements, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise ClusterError(f"the accounting database could not be created:\n{result.stderr[-2000:]}")
    unfinished.rename(layout.database)
    return True


def set_aside(layout: StateLayout) -> Path:
    """Move a database that cannot be used out of the way; gives its new path."""
    aside = layout.state / time.strftime("database.damaged-%Y%m%d-%H%M%S")
    layout.database.rename(aside)
    return aside
