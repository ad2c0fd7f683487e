"""Write the folder of Slurm commands that a user of the host puts on PATH."""

import os
import shlex
import shutil
from pathlib import Path

from kappa.embedded_cluster.console import ClusterError
from kappa.embedded_cluster.layout import INSIDE, LOGIN, StateLayout, write_whole
from kappa.embedded_cluster.processes import EXITING

SLURM_COMMANDS = (
    "sbatch", "srun", "salloc", "scancel", "sacct", "sacctmgr", "squeue", "scontrol", "sinfo", "sdiag",
)  # fmt: skip
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# Variables of the host's Slurm, which would lead the commands to another cluster.
HOST_VARIABLES = ("SLURM_CONF", "SLURM_JOB_ID", "SLURM_JOBID")
_MARK = "kappa-cluster-wrapper"


def find_program(name: str) -> str | None:
    """Return the path of an installed program. Ignore the wrappers of this and other clusters."""
    for folder in f"{os.environ.get('PATH', '')}:{SYSTEM_PATH}".split(":"):
        found = shutil.which(name, path=folder) if folder else None
        if found and _MARK.encode() not in Path(found).read_bytes()[:256]:
            return found
    return None


def namespace_flags(rootless: bool) -> list[str]:
    """Return the options of nsenter(1) that enter a place of the cluster."""
    return (["--user"] if rootless else []) + ["--mount", "--uts", "--ipc", "--net", "--pid"]


def render_wrapper(command: str, program: str, layout: StateLayout, rootless: bool, manager: Path) -> str:
    """Return a shell script that runs `program` in the login namespace.

    It keeps arguments, working directory, environment, standard streams and exit status. It checks the first
    process of the namespace by its start time and boot. The command ends with the wrapper.
    """
    hint = f"run {shlex.quote(str(manager))} up --state {shlex.quote(str(layout.state))}"
    return f"""\
#!/bin/sh
# {_MARK}: {command} in the login namespace of an embedded cluster
set -eu
state={shlex.quote(str(layout.state))}
program={shlex.quote(program)}

# Inside the cluster (a job that inherited PATH), run the command itself.
# shellcheck disable=SC3013 # POSIX since 2024, and known to dash, bash and BusyBox before
if [ {INSIDE} -ef "$state" ]; then exec "$program" "$@"; fi

not_up() {{
  echo {shlex.quote(f"{command}: the embedded cluster in {layout.state} is not up: {hint}")} >&2
  exit 1
}}
is_init() {{
  read -r boot_now < /proc/sys/kernel/random/boot_id
  IFS= read -r line < "/proc/$pid/stat" || return 1
  # shellcheck disable=SC2086 # split into the fields of proc(5), the third first
  set -- ${{line##*) }}
  # the seventh field has the process's flags; {EXITING} means that it is ending
  [ "$boot" = "$boot_now" ] && [ "${{20}}" = "$start" ] && [ "$(($7 & {EXITING}))" = 0 ]
}}
{{ read -r pid start boot < "$state/run/{LOGIN}.pid"; }} 2>/dev/null || not_up
is_init 2>/dev/null || not_up
unset {" ".join(HOST_VARIABLES)}
exec nsenter --target "$pid" {" ".join(namespace_flags(rootless))} --wdns="$PWD" -- \\
  setpriv --pdeathsig TERM -- "$program" "$@"
"""


def write_wrappers(layout: StateLayout, rootless: bool, manager: Path) -> None:
    for command in SLURM_COMMANDS:
        program = find_program(command)
        if program is None:
            raise ClusterError(f"{command} is not installed: install the Debian package slurm-client")
        write_whole(layout.bin / command, render_wrapper(command, program, layout, rootless, manager), 0o755)
