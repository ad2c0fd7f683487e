"""Run ``kappa-node folders`` on the nodes of a job, and compare its answers with this machine."""

import contextlib
import os
import pathlib
import queue
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import IO

from kappa.app.conduct.node_commands import NodeCommands
from kappa.app.survey.doctor import nodes
from kappa.app.survey.doctor.nodes import AskedFolder, ClockOffset, Folder, FolderAnswers, MachineAnswer
from kappa.app.survey.doctor.results import DoctorResult, DoctorTest
from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.folders import results_folder
from kappa.core.ground.processes import Stop, ask, end
from kappa.core.ground.whole_files import make_folder, write_atomically
from kappa.core.sites.site_file import SiteDescription

THIS_MACHINE = "this machine"
_CLOCK_QUESTIONS = 5
_CLOCK_S = 10.0
_LABEL = re.compile(r"^ *(\d+): ?(.*)$")
# The time at which this machine asked, and the time of the node.
_CLOCK = re.compile(r"clock (\d+\.\d+) (\d+\.\d+)")
_RUN = "#!/bin/sh\necho runs\n"
_VISIBLE_S = 20.0
_HERE_S = 120.0


class JobStep:
    """The tasks of a step, started by srun with --label.

    ``lines``, ``offsets``: the lines of each task, and the offset of its clock from this machine's clock. ``began``:
    all tasks started. ``in_time``: they ended in time. ``problem``: srun's standard error, or its exit status if it
    failed silently.
    """

    def __init__(self, child: "subprocess.Popen[str]", tasks: int, stop: Stop) -> None:
        self._child, self._tasks, self._stop = child, tasks, stop
        self._output: queue.Queue[tuple[float, str] | None] = queue.Queue()
        self._clock_answers_due = 0
        self._ready: set[int] = set()
        self.lines: dict[int, list[str]] = {}
        self.offsets: dict[int, ClockOffset] = {}
        self.began = self.in_time = False
        self.problem = ""
        assert child.stdout is not None
        # The thread ends with the child, which closes the pipe.
        threading.Thread(target=_read_lines, args=(child.stdout, self._output), daemon=True).start()

    def run(self, given: str, wait_s: float, answer_s: float, late: Callable[[], object]) -> None:
        """Exchange messages with the tasks; the parameters are as of `run_step`."""
        # A pipe holds less than the program, and srun reads it when its step has started.
        threading.Thread(target=self._send, args=(given,), daemon=True).start()
        started = self._read_until(lambda: len(self._ready) == self._tasks, wait_s)
        self.began = started is True
        if started is False:
            late()
        elif started:
            self._ask_clocks()
            self.in_time = self._read_until(lambda: False, answer_s) is None

    def _read_until(self, done: Callable[[], bool], patience_s: float) -> bool | None:
        """Read until ``done`` is true. Return ``None`` if the output ends first, ``False`` after ``patience_s``."""
        deadline = time.monotonic() + patience_s
        while not done():
            self._stop.check()
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            with contextlib.suppress(queue.Empty):
                line = self._output.get(timeout=min(left, 0.5))
                if line is None:
                    return None
                self._take(*line)
        return True

    def _take(self, moment: float, line: str) -> None:
        match = _LABEL.match(clean(line))
        if not match:
            return
        task, text = int(match[1]), match[2]
        if text == "ready":
            self._ready.add(task)
        elif clock := _CLOCK.fullmatch(text):
            asked, shown = map(float, clock.groups())
            before = self.offsets.get(task, ClockOffset())
            # Each answer gives bounds; their intersection is narrower.
            self.offsets[task] = ClockOffset(max(shown - moment, before.least), min(shown - asked, before.most))
            self._clock_answers_due -= 1
        else:
            self.lines.setdefault(task, []).append(text)

    def _ask_clocks(self) -> None:
        for _ in range(_CLOCK_QUESTIONS):
            self._clock_answers_due = self._tasks
            self._send(f"{time.time():.6f}\n")
            if not self._read_until(lambda: self._clock_answers_due <= 0, _CLOCK_S):
                break
        self._send("end\n")

    def _send(self, text: str) -> None:
        assert self._child.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._child.stdin.write(text)
            self._child.stdin.flush()


def run_step(
    command: Sequence[str], given: str, environment: Mapping[str, str], tasks: int, wait_s: float, answer_s: float,
    stop: Stop, late: Callable[[], object],
) -> JobStep:  # fmt: skip
    """Run ``command``, which is srun with --label, and ask its tasks for their clocks.

    :param given: the first line of its standard input.
    :param wait_s: longest time until all tasks start; then ``late`` is called, and the command and its job end.
    :param answer_s: longest time for their answers.

    :raises StoppedError: there is a reason to stop.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as problems:
        child = subprocess.Popen(
            command, env=dict(environment), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=problems, text=True,
            errors="replace", bufsize=1, start_new_session=True,
        )  # fmt: skip
        with child:
            step = JobStep(child, tasks, stop)
            try:
                step.run(given, wait_s, answer_s, late)
            finally:
                end(child, 5.0)
        problems.seek(0)
        step.problem = one_line(clean(problems.read(4000)), 300)
    if child.returncode and not step.problem:
        step.problem = f"it ended with status {child.returncode}"
    return step


def _read_lines(pipe: IO[str], output: "queue.Queue[tuple[float, str] | None]") -> None:
    with contextlib.suppress(ValueError):
        for line in pipe:
            output.put((time.time(), line.rstrip("\n")))
    output.put(None)


@contextlib.contextmanager
def work_folders(site: SiteDescription, token: str) -> Iterator[list[AskedFolder]]:
    """Make a new folder with the file ``login`` and a program in each folder in which jobs write. Remove it at the end.

    The first one is in the folder of results.

    :raises InputError: a folder cannot be made or written to.
    """
    kept = site.base / ".kappa"
    folders = {"results": results_folder(site.name), ".kappa": kept}
    for name, environment in site.described.environments.items():
        if environment.build_dir and not (folder := site.base / environment.build_dir).is_relative_to(kept):
            folders[f"build_dir of {name}"] = folder
    work = {name: folder / f"kappa-doctor-{token}" for name, folder in folders.items()}
    missing = {above for folder in work.values() for above in folder.parents if not above.exists()}
    try:
        for folder in work.values():
            make_folder(folder)
            write_atomically(folder / "login", f"{token}\n")
            write_atomically(folder / "run", _RUN, 0o700)
        yield [AskedFolder(nodes.WORK, str(folder), name, str(folder.parent)) for name, folder in work.items()]
    finally:
        for folder in work.values():
            shutil.rmtree(folder, ignore_errors=True)
        for folder in sorted(missing, key=lambda each: len(each.parts), reverse=True):
            with contextlib.suppress(OSError):
                folder.rmdir()


def room_here(work: Sequence[AskedFolder], token: str, commands: NodeCommands) -> list[DoctorResult]:
    """Test the free space in the work folders, as this machine sees it."""
    command, given = nodes.question(token, "login", 1, work)
    environment = {**commands.environment, "SLURMD_NODENAME": socket.gethostname()}
    output = ""
    with contextlib.suppress(subprocess.TimeoutExpired):
        output, _, _ = ask(command, environment, _HERE_S, f"{given}end\n")
    machine, found = nodes.parse(output.splitlines()), []
    for number, asked in enumerate(work):
        answers = FolderAnswers(asked, {machine.node or THIS_MACHINE: machine.folders.get(number, Folder())})
        found += DoctorTest("folder {}", nodes.ANSWERED).results(answers, (THIS_MACHINE,), asked.name)
        found += nodes.room_results(answers, (THIS_MACHINE,))
    return found


def folder_answers(
    asked: Sequence[AskedFolder], machines: Sequence[MachineAnswer], token: str, stop: Stop
) -> Iterator[FolderAnswers]:
    """Yield the answers of the nodes about each folder, and which of their files this machine sees.

    :raises StoppedError: there is a reason to stop.
    """
    for number, folder in enumerate(asked):
        by_node = {machine.node: machine.folders.get(number, Folder()) for machine in machines}
        wrote = [node for node, there in by_node.items() if there.token == token and there.writes == "yes"]
        seen = _visible(pathlib.Path(folder.path), wrote, token, stop) if folder.kind == nodes.WORK else ()
        yield FolderAnswers(folder, by_node, str(os.getuid()), token, seen)


def _visible(folder: pathlib.Path, names: Collection[str], token: str, stop: Stop) -> list[str]:
    """Return the nodes ``names`` whose complete file is visible here. A file server may need a while."""
    deadline = time.monotonic() + _VISIBLE_S
    while True:
        # A change by this client makes NFS read the folder again.
        look = folder / ".look"
        look.touch()
        look.unlink(missing_ok=True)  # other threads do the same at the same time
        seen = [node for node in names if _first_word(folder / f"node-{node}") == token]
        if len(seen) == len(names) or time.monotonic() > deadline:
            return seen
        stop.check()
        time.sleep(0.2)


def _first_word(path: pathlib.Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.readline(200).partition(" ")[0]
    except OSError:
        return ""
