"""Load on the machine that is no fault of any node: what people do beside a validation.

Each kind is a process of its own, which stops by itself after a while and when the one that started it ends.
"""

import argparse
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence

from tests.fault_campaign.cluster import REPOSITORY, CampaignError

# Above any round or run.
LONGEST_S = 3 * 3600
MIB = 1 << 20
MODULE = "tests.fault_campaign.beside"
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


def names(text: str) -> tuple[str, ...]:
    """``text`` as names of loads.

    :raises argparse.ArgumentTypeError: an unknown one.
    """
    found = tuple(filter(None, text.split(",")))
    unknown = [name for name in found if name not in LOADS]
    if unknown or not found:
        raise argparse.ArgumentTypeError(f"expected some of {','.join(LOADS)}, found {text!r}")
    return found


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
            command = [sys.executable, "-m", MODULE, name, "--folder", str(own), "--seconds", str(seconds)]
            started = subprocess.Popen(
                ["setpriv", "--pdeathsig", "TERM", *command], cwd=REPOSITORY, start_new_session=True
            )
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


def main() -> int:
    parser = argparse.ArgumentParser(
        "python -m tests.fault_campaign.beside",
        description="Load this machine: a parallel build, a program that streams through memory, one that writes and "
        "syncs a disk. Stops by itself, and with COMMAND when there is one, whose exit status it then has.",
        epilog="example: python -m tests.fault_campaign.beside build,memory,disk -- make validate",
    )
    parser.add_argument("loads", type=names, metavar=",".join(LOADS), help="one or several of them")
    parser.add_argument("--seconds", type=float, default=600, metavar="S", help="without COMMAND (%(default)s)")
    parser.add_argument("--folder", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("command", nargs="*", metavar="COMMAND", help="what runs beside, after --")
    options = parser.parse_args()
    if options.folder:  # the process of one load
        _own_group_ends_with_this()
        LOADS[options.loads[0]](options.folder, time.monotonic() + options.seconds)
        return 0
    try:
        with beside(options.loads, pathlib.Path(tempfile.gettempdir())):
            if not options.command:
                time.sleep(options.seconds)
                return 0
            return subprocess.run(options.command, check=False).returncode
    except CampaignError as err:
        print(f"beside: error: {err}", file=sys.stderr)
        return 2


def _own_group_ends_with_this() -> None:
    """A signal to this process, as when its parent dies, goes to the compilers, too."""
    signal.signal(signal.SIGTERM, lambda *_: os.killpg(0, signal.SIGKILL))


if __name__ == "__main__":
    sys.exit(main())
