"""The command line of OSU Micro-Benchmarks for mpi4py's OSU demos.

Installed as ``osu_latency``, ``osu_bw``, … by ``install``; the program's name says which demo runs. The
demos measure as OSU does but take their settings as function arguments only. Sizes below MIN are dropped
from the output, as OSU does not print them.
"""

import argparse
import contextlib
import importlib
import io
import pathlib
import sys


def parse_arguments(program: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=program, description=__doc__.splitlines()[0])
    parser.add_argument("-i", type=int, metavar="N", help="timed iterations for each message size")
    parser.add_argument("-x", type=int, metavar="N", help="untimed iterations before them")
    parser.add_argument("-W", type=int, metavar="N", help="messages in flight (bandwidth programs)")
    parser.add_argument("-m", metavar="[MIN:]MAX", default="1:1048576", help="message sizes in bytes (%(default)s)")
    arguments = parser.parse_args()
    low, _, high = arguments.m.rpartition(":")
    try:
        arguments.min_bytes, arguments.max_bytes = int(low or 1), int(high)
    except ValueError:
        parser.error(f"argument -m: expected [MIN:]MAX in bytes, found {arguments.m!r}")
    return arguments


def main() -> None:
    program = pathlib.Path(sys.argv[0]).name
    arguments = parse_arguments(program)
    function = getattr(importlib.import_module(program), program)
    settings = {"MAX_MSG_SIZE": arguments.max_bytes}
    if arguments.i:
        settings |= {"loop": arguments.i, "loop_large": arguments.i}
    if arguments.x is not None:
        settings |= {"skip": arguments.x, "skip_large": arguments.x}
    if arguments.W:
        settings |= {"window_size": arguments.W, "window_size_large": arguments.W}

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        function(**settings)
    for line in printed.getvalue().splitlines():
        size = line.split(maxsplit=1)[0]
        if not size.isdigit() or program == "osu_barrier" or int(size) >= arguments.min_bytes:
            print(line)


if __name__ == "__main__":
    main()
