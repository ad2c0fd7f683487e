"""Whether compute nodes see the folder in which jobs run: a step of a moment on nodes that have nothing to do.

A node that lacks it is the checks' to name, and the others are measured. Where all that answer lack it no job runs.
Nodes that are busy are not waited for, and a Slurm that starts no step from here says nothing about the folder.
"""

import contextlib
import pathlib
import tempfile
import time
from collections.abc import Mapping, Sequence

from kappa.app.conduct.node_commands import CommandError, NodeCommands
from kappa.core.ground.clean_text import clean

#: Until a step has to have started, and until all of them have to have answered, s.
START_S, ANSWER_S = 3, 10.0
#: So many nodes of a partition are asked.
NODES = 3
# A file of a name that was never there: no network file system can remember that it was not.
_LOOK = 'if [ -e "$1" ]; then echo "$SLURMD_NODENAME sees"; else echo "$SLURMD_NODENAME lacks"; fi'


def none_sees(
    folder: pathlib.Path, commands: NodeCommands, options: Mapping[str, Sequence[str]], nodes: Mapping[str, int]
) -> str:
    """Why no job can run in ``folder``, which exists; empty when some can, or nothing is known.

    :param options: of a job in each of the partitions. :param nodes: how many each of them has.
    """
    with contextlib.suppress(OSError), tempfile.NamedTemporaryFile(dir=folder, prefix=".seen-by-nodes-") as file:
        step = [f"--immediate={START_S}", f"--nodes=1-{NODES}", "--ntasks-per-node=1", "--time=1", "--chdir=/"]
        lacking: set[str] = set()
        until_s = time.monotonic() + ANSWER_S
        for of_partition in options.values():
            patience_s = until_s - time.monotonic()
            if patience_s <= 0:
                break
            # What starts no step tells nothing.
            with contextlib.suppress(CommandError):
                command = ["srun", *step, "--mpi=none", "--quiet", *of_partition, "sh", "-c", _LOOK, "sh", file.name]
                for line in commands.run(command, patience_s).splitlines():
                    node, _, found = line.partition(" ")
                    if found == "sees":
                        return ""
                    if found == "lacks":
                        lacking.add(clean(node))
        # One of many nodes may be the one that is wrong.
        if len(lacking) >= max(1, min(2, sum(nodes.values()))):
            return (
                f"compute nodes do not see {clean(str(folder))}, where jobs run (asked: {', '.join(sorted(lacking))});"
                " put results where all nodes see them: KAPPA_RESULTS, or `home` (KAPPA_HOME)"
            )
    return ""
