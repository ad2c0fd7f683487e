"""Load on the machine that is no fault of any node: what people do beside a validation.

Each kind is a process of its own, which stops by itself after a while and when the one that started it ends.
"""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence

from kappa.tools.fault_campaign.cluster import CampaignError

# Above any round or run.
LONGEST_S = 3 * 3600
MIB = 1 << 20
_SOURCE = '#include <iostream>\n#include <map>\n#include <regex>\nstd::regex pattern{{"[a-z]{{{number}}}+"}};\n'


def build(folder: pathlib.Path, deadline: float) -> None:
    """A parallel build: a compiler on each core, again and again."""
    sources = [folder / f"source{number}.cpp" for number in range(4 * (os.cpu_count() or 1))]
    for number, source in enumerate(sources, start=1):
        source.write_text(_SOURCE.format(number=number), encoding="ascii")
    objects = [f"{source.stem}.o" for source in sources]
    (folder / "Makefile").write_text(f"all: {' '.join(objects)}\n", encoding="ascii")
    while time.monotonic() < deadline:
        subprocess.run(
            ["make", "--silent", "--always-make", f"--jobs={os.cpu_count()}", "CXXFLAGS=-O2", "all"],
            cwd=folder, check=True,
        )  # fmt: skip


def memory(_: pathlib.Path, deadline: float) -> None:
    """A program that streams through memory: copies half a gibibyte to and fro."""
    import numpy as np  # noqa: PLC0415 - only this one needs it

    source, target = np.zeros(256 * MIB // 8), np.empty(256 * MIB // 8)
    while time.monotonic() < deadline:
        np.copyto(target, source)
        np.copyto(source, target)


def disk(folder: pathlib.Path, deadline: float) -> None:
    """A program that writes a file of 256 MiB again and again and has every 8 MiB synced to the disk."""
    block = os.urandom(MIB)
    with (folder / "written").open("wb", buffering=0) as file:
        while time.monotonic() < deadline:
            file.seek(0)
            for number in range(1, 257):
                file.write(block)
                if number % 8 == 0:
                    os.fsync(file.fileno())


LOADS: dict[str, Callable[[pathlib.Path, float], None]] = {each.__name__: each for each in (build, memory, disk)}


@contextlib.contextmanager
def beside(loads: Sequence[str], folder: pathlib.Path, seconds: float = LONGEST_S) -> Iterator[list[int]]:
    """The loads, each in a process group of its own, while the context lasts; what they write lies below ``folder``.

    :returns: their process IDs.
    """
    with tempfile.TemporaryDirectory(prefix="beside-", dir=folder) as place, contextlib.ExitStack() as stack:
        running = []
        for name in loads:
            own = pathlib.Path(place, name)
            own.mkdir()
            command = [sys.executable, "-m", __name__, name, str(own), str(seconds)]
            started = subprocess.Popen(["setpriv", "--pdeathsig", "TERM", *command], start_new_session=True)
            stack.callback(_end, name, started)
            running.append(started.pid)
        yield running


def _end(name: str, process: subprocess.Popen[bytes]) -> None:
    """:raises CampaignError: it was not there until now, so that nothing is known of what ran beside it."""
    ended_before = process.poll()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if ended_before is not None:
        raise CampaignError(f"the load {name} ended before what ran beside it (exit status {ended_before})")


def load() -> None:
    """The process of one load: its name, folder and seconds are the arguments."""
    # A signal to this process, as when its parent dies, goes to the compilers, too.
    signal.signal(signal.SIGTERM, lambda *_: os.killpg(0, signal.SIGKILL))
    name, folder, seconds = sys.argv[1:]
    LOADS[name](pathlib.Path(folder), time.monotonic() + float(seconds))


if __name__ == "__main__":
    load()
