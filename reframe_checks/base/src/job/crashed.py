"""On which nodes a measurement has crashed, by what srun says of its tasks on the job's standard error.

The first task that has failed tells: what comes after it was ended by srun, or gave up because its peer was gone. A
crash on more than half of the nodes is the program's fault, an exit code the matter of the check that reads its output.

Runs on the Python 3.6 that old systems bring.
"""

import re

MOST_CHARS = 300  # of a line of evidence
TASKS = re.compile(r"srun: error: (\S{1,4096}): tasks? [\d,-]+: (.+)")
SIGNALS = re.compile(r"(Segmentation fault|Bus error|Illegal instruction|Floating point exception|Aborted)\b")
EXIT_CODE = re.compile(r"Exited with exit code (\d+)")
# What a shell and the loader end with when they cannot run a program; srun ends with the error's number instead.
NOT_RUN, NOT_RUN_BY_SRUN = (126, 127), (2, 8, 13)
LOADER = re.compile(r".*(?:error while loading shared libraries: |symbol lookup error: ).*")
BY_SRUN = re.compile(r".*error: execve\(\): .*")
# MPI libraries abort where they notice that the other end is gone, too.
OTHER_END = re.compile(
    r"retry count exceeded|endpoint timeout|connection (?:reset|refused|timed out)|no route to host|unreachable", re.I
)


def crashed(nodes, said, names):
    """Findings of the job's ``nodes``; nobody where it was no crash, or one on most of them.

    :param said: standard error. :param names: the nodes in a compact list of Slurm's.
    """
    lines, found = said.splitlines(), {}
    for line in lines:
        told = TASKS.match(line)
        if not told:
            continue
        evidence = crash(told.group(2), lines)
        if evidence is not None:
            hosts = names(told.group(1)) if "[" in told.group(1) or "," in told.group(1) else [told.group(1)]
            found.update((node, [line, *evidence]) for node in hosts if node not in found)
        elif not found:
            return []
    if 2 * len(found) > len(nodes) or not set(found) <= set(nodes):
        return []
    return [
        {"node": node, "reason": "crashed", "said": "; ".join(map(printable, found[node]))} for node in sorted(found)
    ]


def printable(line):
    return "".join(char if char.isprintable() else "?" for char in line[:MOST_CHARS])


def crash(end, lines):
    """What else shows that a task that ended so has crashed, which may be nothing; ``None`` when it has not."""
    signal, code = SIGNALS.match(end), EXIT_CODE.match(end)
    if signal:
        gone = signal.group(1) == "Aborted" and any(OTHER_END.search(line) for line in lines)
        return None if gone else []
    if not code:
        return None
    number = int(code.group(1))
    why = [line.strip() for line in lines if (BY_SRUN if number in NOT_RUN_BY_SRUN else LOADER).match(line)][:1]
    return why if why or number in NOT_RUN else None
