"""Exchange messages with the nodes of a running job, and test whether all see the same files."""

import contextlib
import functools
import pathlib
import queue
import re
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import IO, NamedTuple

from kappa.app.survey.doctor.nodes import Offset
from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.folders import results_folder
from kappa.core.ground.processes import Stop, end
from kappa.core.ground.whole_files import make_folder, write_atomically
from kappa.core.sites.site_file import SiteDescription

_BEATS = 5
_BEAT_S = 10.0
_LABEL = re.compile(r"^ *(\d+): ?(.*)$")
_CLOCK = re.compile(r"clock (\d+) (\d+\.\d+)")
_RUN = "#!/bin/sh\necho runs\n"
_PATIENCE_S = 20.0


class Talk(NamedTuple):
    """The answers of a job's tasks.

    ``said``: the lines of each task. ``offsets``: the offset of each task's clock from this machine's clock.
    ``began``: all tasks started. ``problem``: the command's standard error, with its exit status if it failed.
    """

    said: Mapping[int, list[str]]
    offsets: Mapping[int, Offset]
    began: bool
    in_time: bool
    problem: str


def talk(
    command: Sequence[str], given: str, environment: Mapping[str, str], tasks: int, wait_s: float, tell_s: float,
    stop: Stop, late: Callable[[], object],
) -> Talk:  # fmt: skip
    """Run ``command``, which is srun with --label, and exchange messages with its tasks.

    :param given: the first line of its standard input.
    :param wait_s: longest time until all tasks start; then ``late`` is called, and the command and its job end.
    :param tell_s: longest time for their answers.

    :raises StoppedError: there is a reason to stop.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as problems:
        child = subprocess.Popen(
            command, env=dict(environment), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=problems, text=True,
            errors="replace", bufsize=1, start_new_session=True,
        )  # fmt: skip
        with child:
            try:
                conversation = _Conversation(child, tasks, stop)
                # A pipe holds less than the program, and srun reads it when its step has started.
                threading.Thread(target=conversation.send, args=(given,), daemon=True).start()
                began = conversation.until(lambda: conversation.ready == set(range(tasks)), wait_s)
                if began is False:
                    late()
                elif began:
                    conversation.ask_clocks()
                in_time = conversation.until(lambda: False, tell_s) is None if began else False
            finally:
                end(child, 5.0)
        problems.seek(0)
        said = one_line(clean(problems.read(4000)), 300)
    if child.returncode and not said:
        said = f"it ended with status {child.returncode}"
    return Talk(conversation.said, conversation.offsets, began is True, in_time, said)


class _Conversation:
    def __init__(self, child: "subprocess.Popen[str]", tasks: int, stop: Stop) -> None:
        self._child, self._tasks, self._stop = child, tasks, stop
        self._heard: queue.Queue[tuple[float, str] | None] = queue.Queue()
        self._sent: dict[int, float] = {}
        self._answered: dict[int, int] = {}
        self.said: dict[int, list[str]] = {}
        self.offsets: dict[int, Offset] = {}
        self.ready: set[int] = set()
        assert child.stdout is not None
        # The thread ends with the child, which closes the pipe.
        threading.Thread(target=_listen, args=(child.stdout, self._heard), daemon=True).start()

    def until(self, done: Callable[[], bool], patience_s: float) -> bool | None:
        """Listen until ``done`` is true. Return ``None`` if the output ends first, ``False`` after ``patience_s``."""
        deadline = time.monotonic() + patience_s
        while not done():
            self._stop.check()
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            with contextlib.suppress(queue.Empty):
                heard = self._heard.get(timeout=min(left, 0.5))
                if heard is None:
                    return None
                self._take(*heard)
        return True

    def _take(self, moment: float, line: str) -> None:
        match = _LABEL.match(clean(line))
        if not match:
            return
        task, words = int(match[1]), match[2]
        if words == "ready":
            self.ready.add(task)
        elif (clock := _CLOCK.fullmatch(words)) and int(clock[1]) in self._sent:
            beat, shown = int(clock[1]), float(clock[2])
            now, before = Offset(shown - moment, shown - self._sent[beat]), self.offsets.get(task)
            # Each answer gives bounds; their intersection is narrower.
            self.offsets[task] = Offset(max(now.least, before.least), min(now.most, before.most)) if before else now
            self._answered[beat] = self._answered.get(beat, 0) + 1
        else:
            self.said.setdefault(task, []).append(words)

    def _all_answered(self, beat: int) -> bool:
        return self._answered.get(beat, 0) >= self._tasks

    def ask_clocks(self) -> None:
        for beat in range(_BEATS):
            self._sent[beat] = time.time()
            self.send(f"{beat}\n")
            if not self.until(functools.partial(self._all_answered, beat), _BEAT_S):
                break
        self.send("end\n")

    def send(self, text: str) -> None:
        assert self._child.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._child.stdin.write(text)
            self._child.stdin.flush()


def _listen(pipe: IO[str], heard: "queue.Queue[tuple[float, str] | None]") -> None:
    with contextlib.suppress(ValueError):
        for line in pipe:
            heard.put((time.time(), line.rstrip("\n")))
    heard.put(None)


def places(site: SiteDescription) -> dict[str, pathlib.Path]:
    """Return the folders in which jobs write, by name: results with the jobs' stage, and built programs."""
    kept = site.base / ".kappa"
    found = {"results": results_folder(site.name), ".kappa": kept}
    for name, one in site.described.environments.items():
        if one.build_dir and not (folder := site.base / one.build_dir).is_relative_to(kept):
            found[f"build_dir of {name}"] = folder
    return found


@contextlib.contextmanager
def work_folders(where: Mapping[str, pathlib.Path], token: str) -> Iterator[dict[str, pathlib.Path]]:
    """Make a new folder in each of ``where``, with the file ``login`` and a program. Remove them all at the end.

    :raises InputError: a folder cannot be made or written to.
    """
    made: list[pathlib.Path] = []
    try:
        found = {}
        for name, place in where.items():
            made += [folder for folder in (place, *place.parents) if not folder.exists()]
            folder = place / f"kappa-doctor-{token}"
            make_folder(folder)
            write_atomically(folder / "login", f"{token}\n")
            write_atomically(folder / "run", _RUN, 0o700)
            found[name] = folder
        yield found
    finally:
        for place in where.values():
            shutil.rmtree(place / f"kappa-doctor-{token}", ignore_errors=True)
        for folder in sorted(made, key=lambda one: len(one.parts), reverse=True):
            with contextlib.suppress(OSError):
                folder.rmdir()


def seen_here(folder: pathlib.Path, nodes: Collection[str], token: str, stop: Stop) -> Sequence[str]:
    """Return the ``nodes`` whose complete file is visible here. A file server may need a while.

    :raises StoppedError: there is a reason to stop.
    """
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        # A change by this client makes NFS read the folder again.
        look = folder / ".look"
        look.touch()
        look.unlink(missing_ok=True)  # other threads do the same at the same time
        found = [node for node in nodes if _first_word(folder / f"node-{node}") == token]
        if len(found) == len(nodes) or time.monotonic() > deadline:
            return found
        stop.check()
        time.sleep(0.2)


def _first_word(path: pathlib.Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.readline(200).partition(" ")[0]
    except OSError:
        return ""
