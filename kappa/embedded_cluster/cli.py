"""Parse and run `cluster up | down | status | exec | logs`."""

import argparse
import os
import shlex
import sys
from pathlib import Path
from typing import Any, NoReturn

from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import SUITE, base_of
from kappa.embedded_cluster.console import ClusterError, ConsoleProgress, Deadline
from kappa.embedded_cluster.instance import Instance, find_outer, remove_state, state_lock
from kappa.embedded_cluster.layout import LOGIN, SCRATCH_FILE_SYSTEMS, ClusterOptions, StateLayout, parse_size
from kappa.embedded_cluster.start import bring_up
from kappa.embedded_cluster.status import DEGRADED, HEALTHY, NOT_UP, examine, render_json, render_table
from kappa.embedded_cluster.stop import stop_cluster
from kappa.embedded_cluster.wrappers import HOST_VARIABLES

MANAGER = SUITE / "site_configs/embedded/cluster"
STATE_VARIABLE = "KAPPA_CLUSTER_STATE"

_DESCRIPTION = """\
Run a real Slurm cluster on this machine: slurmctld, slurmdbd with MariaDB, and slurmd on each of several
virtual nodes. Every node has its own network, host name, processes, /dev/shm and /scratch.
You need root, or user namespaces (newuidmap and a range in /etc/subuid).

Exit status: 0 done, 2 error; of status: 0 healthy, 1 degraded, 3 not up; of exec: the exit status of the command.
"""
_EXAMPLES = """\
examples:
  cluster up                                 start the cluster, or restart its dead parts
  eval "$(cluster up --print-env)"           also put its sbatch, srun, sacct … on PATH
  sbatch -p cpu -N2 job.sh                   submit a job from this machine
  cluster exec node1                         open a shell on a node
  cluster exec node2 pkill -9 slurmd         break something; `cluster up` repairs it
  cluster logs slurmctld -f                  follow a daemon's log
  cluster up --nodes 512 --light             start hundreds of nodes, for everything except benchmarks
  cluster down --purge                       stop the cluster and remove all its files
"""
_PARTITIONS = """\
partitions: cpu (first half of the nodes, default), gpu (second half; --gres=gpu:1), scratch (all nodes).
Jobs with --licenses=machine:1 run one at a time.
In the cluster, all nodes share /shared, and each node has its own /scratch. All other paths are the host's.
"""


def _size(text: str) -> int:
    try:
        return parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _parser() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument(
        "--state",
        metavar="DIR",
        type=Path,
        default=argparse.SUPPRESS,
        help=f"the folder for all files of the cluster (default: ${STATE_VARIABLE}, or .kappa/cluster)",
    )
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        "cluster", description=_DESCRIPTION, epilog=_EXAMPLES, formatter_class=formatter, parents=[common]
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    up = commands.add_parser(
        "up",
        parents=[common],
        formatter_class=formatter,
        help="start the cluster, or restart its dead parts",
        description="Start the cluster, and wait until all nodes are in service. If it is up already, restart its dead "
        "parts.",
        epilog=_PARTITIONS,
    )
    up.add_argument("--nodes", type=int, metavar="N", help="number of nodes, even (default: 4)")
    up.add_argument(
        "--light",
        action="store_true",
        help="start light nodes, for hundreds of nodes without benchmarks: they share network, processes and storage; "
        "only /dev/shm and /scratch are a node's own, in memory",
    )
    up.add_argument("--cpus-per-node", type=int, metavar="N", help="cores of each node (default: the host's)")
    up.add_argument("--scratch-size", type=_size, metavar="SIZE", help="size of each node's /scratch (default: 1G)")
    up.add_argument(
        "--scratch-fs",
        choices=SCRATCH_FILE_SYSTEMS,
        help="ext4: on a loop device with direct I/O (needs root); tmpfs: memory; auto: ext4 if possible (default)",
    )
    up.add_argument(
        "--adapters", type=int, metavar="N", help="adapters of each node, eth0, eth1, …; MPI uses eth0 (default: 2)"
    )
    up.add_argument("--no-accounting", action="store_true", help="start no slurmdbd and MariaDB; sacct will not work")
    up.add_argument(
        "--backup-controller",
        action="store_true",
        help="start a second slurmctld on node1, which takes over if the first one is silent for 30 s",
    )
    up.add_argument("--timeout", type=float, default=300, metavar="S", help="give up after S seconds (default: 300)")
    up.add_argument("--print-env", action="store_true", help="print the shell command that sets PATH")

    down = commands.add_parser(
        "down",
        parents=[common],
        help="stop the cluster",
        description="Cancel all jobs, and stop the cluster. Its database and logs stay for the next start.",
    )
    down.add_argument("--purge", action="store_true", help="also remove the state folder, if `up` made it")
    down.add_argument(
        "--timeout", type=float, default=300, metavar="S", help="wait S seconds for another up or down (default: 300)"
    )

    status = commands.add_parser(
        "status",
        parents=[common],
        help="show daemons, nodes, memory and paths",
        description="Show the state of the cluster. Exit status: 0 healthy, 1 degraded, 3 not up.",
    )
    status.add_argument("--json", action="store_true", help="print JSON")

    execute = commands.add_parser(
        "exec",
        parents=[common],
        formatter_class=formatter,
        help="run a command on a node",
        description="Run a command on a node or the login node, in the current folder and environment, and return its\n"
        "exit status. Without a command, open a shell.",
        epilog="example: cluster exec node2 sh -c 'df -h /scratch | tail -1'",
    )
    execute.add_argument("node", metavar="NODE", help="login, node1, node2 …")
    execute.add_argument("arguments", metavar="CMD", nargs=argparse.REMAINDER, help="a program and its arguments")

    logs = commands.add_parser(
        "logs",
        parents=[common],
        help="show the last lines of log files",
        description="Show the last lines of the logs of all daemons, of one node, or of one daemon.",
    )
    logs.add_argument("name", metavar="NODE|DAEMON", nargs="?", help="for example node1, slurmctld or slurmd-node1")
    logs.add_argument("-n", "--lines", type=int, default=20, metavar="N", help="number of lines per log (default: 20)")
    logs.add_argument("-f", "--follow", action="store_true", help="show new lines as the logs grow")
    return parser


def _layout(arguments: argparse.Namespace) -> StateLayout:
    stated = getattr(arguments, "state", None) or os.environ.get(STATE_VARIABLE)
    chosen = stated or base_of(MANAGER.parent) / ".kappa/cluster"
    return StateLayout(Path(chosen).expanduser().resolve())


def _running(layout: StateLayout) -> Instance:
    instance = Instance.load(layout)
    if instance is None or instance.init_of(LOGIN) is None:
        raise ClusterError(f"the cluster in {layout.state} is not up: start it with `cluster up`")
    return instance


def _up(layout: StateLayout, arguments: argparse.Namespace) -> int:
    given = {
        "nodes": arguments.nodes,
        "cpus_per_node": arguments.cpus_per_node,
        "scratch_bytes": arguments.scratch_size,
        "scratch_fs": arguments.scratch_fs,
        "adapters": arguments.adapters,
        "accounting": False if arguments.no_accounting else None,
        "backup_controller": arguments.backup_controller or None,
    }
    wanted: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if arguments.light:
        wanted = {"light": True, "adapters": 1, "scratch_fs": "tmpfs", **wanted}
    ClusterOptions(**wanted)
    progress = ConsoleProgress()
    bring_up(layout, wanted, arguments.timeout, progress, MANAGER)
    export = f'export PATH={shlex.quote(str(layout.bin))}:"$PATH"'
    if arguments.print_env:
        print(export)
    else:
        progress.say(f"use it with: {export}")
    return 0


def _down(layout: StateLayout, arguments: argparse.Namespace) -> int:
    progress = ConsoleProgress()
    if not layout.state.exists() and find_outer(layout) is None:
        progress.say(f"no cluster to stop in {layout.state}")
        return 0
    with state_lock(layout, Deadline(arguments.timeout), progress):
        if not stop_cluster(layout, progress):
            progress.say("the cluster was not up")
        if arguments.purge:
            remove_state(layout)
            progress.say(f"removed {layout.state}")
    return 0


def _status(layout: StateLayout, arguments: argparse.Namespace) -> int:
    instance = Instance.load(layout)
    status = examine(instance) if instance else None
    if instance is None or status is None:
        print('{"state": "not up"}' if arguments.json else f"cluster: not up (state folder {layout.state})")
        return NOT_UP
    print(render_json(instance, status) if arguments.json else render_table(instance, status))
    return DEGRADED if status.problems else HEALTHY


def _exec(layout: StateLayout, arguments: argparse.Namespace) -> NoReturn:
    instance = _running(layout)
    if arguments.node not in instance.places:
        raise ClusterError(f"there is no node {arguments.node}; expected one of {', '.join(instance.places)}")
    init = instance.init_of(arguments.node)
    if init is None:
        raise ClusterError(f"{arguments.node} is not running: restart it with `cluster up`")
    given = arguments.arguments[1:] if arguments.arguments[:1] == ["--"] else arguments.arguments
    shell = [os.environ.get("SHELL", "/bin/bash")]
    # The command ends with this process.
    command = instance.enter_command(init, ["setpriv", "--pdeathsig", "TERM", "--", *(given or shell)], Path.cwd())
    environment = {name: value for name, value in os.environ.items() if name not in HOST_VARIABLES}
    os.execvpe(command[0], command, environment)


def _place_of(log: Path) -> str:
    """Return the node at the end of the log's name. All other logs belong to the login node."""
    ending = log.stem.rpartition("-")[2]
    return ending if ending.startswith("node") else LOGIN


def _logs(layout: StateLayout, arguments: argparse.Namespace) -> int:
    logs = sorted(layout.log.glob("*.log"))
    if not logs:
        raise ClusterError(f"there are no logs in {layout.log}: start a cluster with `cluster up`")
    names = [log.stem for log in logs]
    if arguments.name is not None:
        logs = [log for log in logs if arguments.name in (log.stem, _place_of(log))]
        if not logs:
            raise ClusterError(f"there is no log of {arguments.name}; expected one of {', '.join(names)}")
    follow = ["-F"] if arguments.follow else []
    sys.stdout.flush()
    os.execvp("tail", ["tail", "-v", "-n", str(arguments.lines), *follow, "--", *map(str, logs)])


_COMMANDS = {"up": _up, "down": _down, "status": _status, "exec": _exec, "logs": _logs}


def main() -> int:
    """Run one command, and return its exit status."""
    arguments = _parser().parse_args()
    try:
        return _COMMANDS[arguments.command](_layout(arguments), arguments)
    except (ClusterError, InputError) as error:
        print(f"cluster: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(
            f"cluster: {error.strerror}: {error.filename}" if error.filename else f"cluster: {error}", file=sys.stderr
        )
        return 2
    except KeyboardInterrupt:
        print("cluster: interrupted", file=sys.stderr)
        return 130
