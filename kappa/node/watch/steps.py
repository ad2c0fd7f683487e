"""Run the watch's steps on some nodes of the job, and ask Slurm about these nodes."""

import itertools
import json
import os
import selectors
import shlex
import subprocess
import sys
import time

from kappa.node import PROGRAM
from kappa.node.facts.names import MOST, expanded
from kappa.node.watch.exchange import MOST_PEERS

# Time limit of a step if no other step has finished; and if one has: at least, and as multiple of the quickest.
ALONE_S, BESIDE_S, TIMES_QUICKEST = 15, 8, 5
ASKING_S = 10
# If a node does not see the job's folder, Slurm starts the step in /tmp. The program there may be anyone's.
LOOK = """[ -r "$1" ] && exec sh "$1" look
printf 'kappa-look {"node": "%s", "unseen": true}\\n' "$SLURMD_NODENAME\""""
RUNS = """path=$(command -v "$1") || exit 0
ldd "$path" 2>&1 | grep -q "not found" || echo "kappa-runs $SLURMD_NODENAME\""""
NOT_FOR_STEPS = ("SLURM_TASK_PROLOG", "SLURM_KILL_BAD_EXIT", "SLURM_NTASKS", "SLURM_NPROCS", "SLURM_NNODES")


def asked(*command):
    """Return the lines that a command prints; none if it fails: a controller without an answer is no node's fault."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=ASKING_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    return done.stdout.decode("utf-8", "replace").splitlines()


def names(listed):
    """Return the node names of a Slurm list; none if it is no such list."""
    try:
        return list(itertools.islice(expanded(listed), MOST))
    except ValueError:
        return []


def nodes_left():
    """Return the nodes that the job still has; ``None`` if Slurm does not answer, or has suspended the job."""
    answer = asked("squeue", "--noheader", "--jobs=" + os.environ["SLURM_JOB_ID"], "--format=%T %N")
    state, _, nodes = (answer or [""])[0].partition(" ")
    return names(nodes) or None if state == "RUNNING" else None


def nodes_down(nodes):
    """Return the nodes that Slurm has given up."""
    # sinfo takes an empty list for all nodes.
    lines = asked("sinfo", "--noheader", "--Node", "--nodes=" + ",".join(nodes), "--format=%N %T") if nodes else []
    states = (line.partition(" ") for line in lines)
    return sorted({node for node, _, state in states if state.startswith("down")})


def looks(groups, patience):
    """Return for each group of nodes the record of ``kappa-node look`` of each node that answers, by name."""
    commands = [[*_step(group, "none"), "sh", "-c", LOOK, "sh", os.path.abspath(PROGRAM)] for group in groups]
    found = _run(commands, [len(group) for group in groups], "kappa-look ", patience)
    return [{look["node"]: look for look in map(_whole, lines) if look} for lines in found]


def runs_on(nodes, program):
    """Return the nodes that have the program and the libraries that it loads."""
    if not nodes:
        return []
    [found] = _run([[*_step(nodes, "none"), "sh", "-c", RUNS, "sh", program]], [len(nodes)], "kappa-runs ", 1)
    return found


def exchange(nodes):
    """Return the records of ``kappa-node exchange`` for each pair of nodes, from the nodes that answer."""
    program = ["sh", os.path.abspath(PROGRAM), "exchange", "--seconds=1", "--folder=kappa_peers", "--wait=10"]
    # The program itself retries with more patience.
    [lines] = _run([_step(nodes, "none") + program], [len(nodes) * min(len(nodes) - 1, MOST_PEERS)], "", 2)
    return [one for one in (_whole(line.rpartition(" ")[0]) for line in lines) if isinstance(one, dict)]


def _whole(line):
    """Parse a node's record; return ``None`` if srun mixed its line with another node's."""
    try:
        return json.loads(line)
    except ValueError:
        return None


def starts_of_mpi(groups, patience, library, launcher):
    """Return for each group of nodes whether MPI starts on it, with one rank on each node."""
    if launcher[0] == "srun":
        commands = [_step(group, type_of_mpi(launcher)) for group in groups]
    else:
        # mpirun starts its daemons by srun, beside the measurement's daemons.
        start = ["env", "SLURM_OVERLAP=1", launcher[0]]
        commands = [[*start, "-np", str(len(group)), "-host", ",".join(group)] for group in groups]
    program = ["sh", os.path.abspath(PROGRAM), "start-mpi", library]
    # If one rank has left the barrier, all ranks have entered it.
    found = _run([command + program for command in commands], [1] * len(groups), "kappa-mpi ", patience)
    return [any(line.endswith(f" of {len(groups[number])}") for line in lines) for number, lines in enumerate(found)]


def launches(pairs, patience, mpi):
    """Return for each pair (from, to) whether srun on the first node starts a step on the second one."""
    commands = [[*_step([begin], "none"), *_step([end], mpi), "echo", "kappa-launched"] for begin, end in pairs]
    return [bool(lines) for lines in _run(commands, [1] * len(pairs), "kappa-launched", patience)]


def type_of_mpi(launcher):
    """Return the value of srun's option ``--mpi``; an empty text without it."""
    return next((word.partition("=")[2] for word in launcher if word.startswith("--mpi=")), "")


def _step(nodes, mpi):
    # Slurm's PMIx plug-in mistakes a node's number in the step for its number in the job (src/ring_of_links.sh).
    listed, count = ",".join(nodes), len(nodes)
    return [
        "env", f"SLURM_JOB_NODELIST={listed}", "SLURM_OVERLAP=1", "srun", *([f"--mpi={mpi}"] if mpi else []),
        f"--nodes={count}", f"--ntasks={count}", "--ntasks-per-node=1", f"--nodelist={listed}", "--cpus-per-task=1",
        "--input=none", "--quiet", "--no-kill", "--kill-on-bad-exit=0",
    ]  # fmt: skip


def _run(commands, sizes, mark, patience):
    """Run all commands at once; return the lines of each that begin with ``mark``, without the mark.

    Ends when each command has printed as many lines as its size says, or is late by ``patience``.
    """
    environ = {key: value for key, value in os.environ.items() if key not in NOT_FOR_STEPS}
    listed = "".join(f"\n  {' '.join(map(shlex.quote, command))}" for command in commands)
    print(time.strftime("%T") + listed, file=sys.stderr, flush=True)
    began_s = time.monotonic()
    deadline_s = began_s + patience * ALONE_S
    steps, found = [], [[] for _ in commands]
    with selectors.DefaultSelector() as waiting:
        try:
            for number, command in enumerate(commands):
                steps.append(subprocess.Popen(command, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE))
                waiting.register(steps[-1].stdout, selectors.EVENT_READ, [number, b""])
            while waiting.get_map() and time.monotonic() < deadline_s:
                for key, _ in waiting.select(max(0.0, deadline_s - time.monotonic())):
                    read = os.read(key.fd, 1 << 16)
                    number, pending = key.data
                    lines = (pending + read).split(b"\n")
                    key.data[1] = lines.pop()
                    texts = (line.decode("utf-8", "replace") for line in lines)
                    found[number] += [text[len(mark) :] for text in texts if text.startswith(mark)]
                    if not read or len(found[number]) >= sizes[number]:
                        waiting.unregister(key.fileobj)
                    if found[number]:
                        took_s = time.monotonic() - began_s
                        deadline_s = min(deadline_s, began_s + patience * max(BESIDE_S, TIMES_QUICKEST * took_s))
        finally:
            _end(steps)
    counts = [len(lines) for lines in found]
    print(f"  {time.monotonic() - began_s:.1f} s: {counts} of {sizes}", file=sys.stderr, flush=True)
    return found


def _end(steps):
    for end, patience_s in ((None, 0.5), (subprocess.Popen.terminate, 2), (subprocess.Popen.kill, 10)):
        left = [step for step in steps if step.poll() is None]
        for step in left if end else []:
            end(step)
        deadline_s = time.monotonic() + patience_s
        while any(step.poll() is None for step in left) and time.monotonic() < deadline_s:
            time.sleep(0.02)
