"""Find the nodes on which a measurement crashed, from the messages of srun or mpirun in the job's output.

Only the first failed task counts: the launcher ended the later ones, or they gave up because their peer was gone. A
crash on more than half of the nodes is the program's fault. So is a crash on several nodes if srun reports no task that
ended otherwise, because a step may use few of the job's nodes. The check that reads the output judges exit codes.
"""

import re

MOST_CHARS = 300  # of a line of evidence
TASKS = re.compile(r"srun: error: (\S{1,4096}): tasks? [\d,-]+: (.+)")
SIGNALS = re.compile(r"(Segmentation fault|Bus error|Illegal instruction|Floating point exception|Aborted)\b")
EXIT_CODE = re.compile(r"Exited with exit code (\d+)")
# Exit codes of shell and loader when they cannot run a program; srun exits with the error's number instead.
NOT_RUN, NOT_RUN_BY_SRUN = (126, 127), (2, 8, 13)
LOADER = re.compile(r".*(?:error while loading shared libraries: |symbol lookup error: ).*")
BY_SRUN = re.compile(r".*error: execve\(\): .*")
NOT_LAUNCHED = re.compile(r"^srun: error: (?:Task launch for .* failed on node |Application launch failed: )")
# Slurm ends a task whose prolog, of the site or of the job, fails or cannot be executed.
BY_PROLOG = re.compile(r"error: .*\b[Tt]ask[_-]?[Pp]rolog\b.*(?:can not be executed|failed status).*")
# MPI libraries also abort if they notice that the other end is gone.
OTHER_END = re.compile(
    r"retry count exceeded|endpoint timeout|connection (?:reset|refused|timed out)|no route to host|unreachable", re.I
)
# mpirun prints numbers; these are srun's words for them. Signals that kill a task follow from another task's end.
SIGNAL_NUMBERS = {
    4: "Illegal instruction", 6: "Aborted", 7: "Bus error", 8: "Floating point exception", 11: "Segmentation fault",
}  # fmt: skip
BY_FORCE = (9, 15)
# Open MPI 4 and 5 report the first task only; version 5 breaks its lines.
NOTICED = re.compile(
    r"^[\w.-]{1,64} noticed that process rank \d+ with PID \d+ on node (\S{1,255}) exited on\s+signal (\d+).*", re.M
)
NOT_STARTED = re.compile(
    r"^[\w.-]{1,64} was unable to (?:launch the specified application as|find the specified executable)\s"
    r"[\s\S]{1,4096}?^ *Node: +(\S{1,255})$",
    re.M,
)
# Messages of Hydra, the launcher of MPICH (raw wait status) and Intel MPI (signal).
BAD_END = re.compile(
    r"^= +(?:RANK \d+ )?PID \d+ RUNNING AT (\S{1,255})\n= +(?:EXIT CODE|KILLED BY SIGNAL): (\d+).*", re.M
)
# Several of its proxies may write on one line.
NOT_CREATED = re.compile(r"\[proxy:[\d:]{1,32}@([^\]\s]{1,255})\](?= (?:HYDU_create_process|HYD_spawn|\[proxy:))")
# Messages of Open MPI's and UCX's signal handlers, on each node that gets a signal.
RECEIVED = re.compile(r"\[([^\s:\]]{1,255}):[\d: ]{1,64}\] (?:Signal: [\w ]{1,64} \(|Caught signal )(\d+)\b")


def crashed(nodes, said, names):
    """Return the findings against ``nodes``; none if there was no crash, or a crash on most of the nodes.

    ``started`` of a finding is false if the program could not be run at all; it may be missing on every node.

    :param said: standard output and error. :param names: the nodes as one of Slurm's compact lists.
    """
    lines, found, otherwise = said.splitlines(), {}, False
    # If a step cannot start on one node, Slurm ends the tasks and prologs of the others.
    launched = next((number for number, line in enumerate(lines) if NOT_LAUNCHED.search(line)), len(lines))
    lines = lines[:launched]
    # srun also starts mpirun's daemons and reports how they ended.
    ends = by_mpirun(nodes, said)
    srun = not ends
    for hosts, end, line in ends or by_srun(lines):
        evidence = crash(end, lines)
        if evidence is not None:
            named = names(hosts) if "[" in hosts or "," in hosts else [hosts]
            started = SIGNALS.match(end) is not None
            found.update((node, (started, [line, *evidence])) for node in named if node not in found)
            # Slurm then also ends the prologs of the other tasks, which print the same message.
            if any(map(BY_PROLOG.search, evidence)):
                break
        elif not found:
            return []
        else:
            otherwise = True
    everywhere = 2 * len(found) > len(nodes) or (srun and len(found) > 1 and not otherwise)
    if everywhere or not set(found) <= set(nodes):
        return []
    return [
        {"node": node, "reason": "crashed", "said": "; ".join(map(printable, evidence)), "started": started}
        for node, (started, evidence) in sorted(found.items())
    ]


def by_srun(lines):
    """Yield nodes, how their tasks ended, and the line that says so, in order."""
    return [(told.group(1), told.group(2), told.group(0)) for told in map(TASKS.match, lines) if told]


def by_mpirun(nodes, said):
    """Return one entry for each node, with the same text."""
    received, ends = [(told.group(1), int(told.group(2))) for told in RECEIVED.finditer(said)], []
    for told in [*NOTICED.finditer(said), *BAD_END.finditer(said)]:
        number = int(told.group(2))
        # Hydra reports every node, in no order of time, and adds 128 for a core dump.
        if told.re is BAD_END and number in BY_FORCE:
            continue
        end = SIGNAL_NUMBERS.get(number % 128, f"Exited with exit code {number}")
        # mpirun reports one node only, even if most nodes themselves report this signal.
        alike = {host for host, signal in received if signal == number % 128}
        ends.append((told, f"Everywhere: {end}" if 2 * len(alike) > len(nodes) else end))
    not_run = f"Exited with exit code {NOT_RUN[-1]}"
    ends += [(told, not_run) for told in NOT_STARTED.finditer(said)]
    found = [(told.group(1), end, " ".join(told.group(0).split())) for told, end in ends]
    found += [(host, not_run, line) for line in said.splitlines() for host in NOT_CREATED.findall(line)]
    return [(host if host in nodes else host.split(".")[0], end, line) for host, end, line in found]


def printable(line):
    return "".join(char if char.isprintable() else "?" for char in line[:MOST_CHARS])


def crash(end, lines):
    """Return the further evidence that a task with this end crashed, or an empty text; ``None`` if it did not crash."""
    signal, code = SIGNALS.match(end), EXIT_CODE.match(end)
    if signal:
        gone = signal.group(1) == "Aborted" and any(OTHER_END.search(line) for line in lines)
        return None if gone else []
    if not code:
        return None
    number = int(code.group(1))
    prolog = [line.strip() for line in lines if BY_PROLOG.search(line)][:1]
    if prolog:
        return prolog
    why = [line.strip() for line in lines if (BY_SRUN if number in NOT_RUN_BY_SRUN else LOADER).match(line)][:1]
    return why if why or number in NOT_RUN else None
