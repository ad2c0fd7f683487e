"""Load the machine as people do during a validation. This load is no fault of a node.

Each kind of load is a separate process. It stops after a time limit, or when its parent ends.
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

from tests.fault_campaign.cluster import CampaignError

# Longer than any round or run.
LONGEST_S = 3 * 3600
MIB = 1 << 20
_SOURCE = '#include <iostream>\n#include <map>\n#include <regex>\nstd::regex pattern{{"[a-z]{{{number}}}+"}};\n'


def build(folder: pathlib.Path, deadline: float) -> None:
    """Run parallel builds: a compiler on each core, again and again."""
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
    """Stream through memory: copy between two arrays of 256 MiB."""
    import numpy as np  # noqa: PLC0415 - only this load needs it

    source, target = np.zeros(256 * MIB // 8), np.empty(256 * MIB // 8)
    while time.monotonic() < deadline:
        np.copyto(target, source)
        np.copyto(source, target)


def disk(folder: pathlib.Path, deadline: float) -> None:
    """Write a file of 256 MiB again and again, and sync every 8 MiB to the disk."""
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
    """Run the loads during the context, each in a separate process group. Their files are below ``folder``.

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
    """End a load.

    :raises CampaignError: the load had ended before, so the results were measured without it.
    """
    ended_before = process.poll()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if ended_before is not None:
        raise CampaignError(
            f"the load {name} ended too early (exit status {ended_before}), so the round was measured without it"
        )


def load() -> None:
    """Run one load in this process. The arguments are its name, folder and seconds."""
    # Pass a signal to this process on to the compilers, for instance when the parent dies.
    signal.signal(signal.SIGTERM, lambda *_: os.killpg(0, signal.SIGKILL))
    name, folder, seconds = sys.argv[1:]
    LOADS[name](pathlib.Path(folder), time.monotonic() + float(seconds))


if __name__ == "__main__":
    load()
