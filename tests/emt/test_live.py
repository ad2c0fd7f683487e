"""Signals of a running simulation for readers that come and go, and steps held to wall time."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import signal
import socket
import stat
import struct
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import psutil
import pytest

from tests.waiting import PATIENCE_S, until

from .conftest import APP, MPI_ENVIRONMENT, Emt

RESULT_SCHEMA = json.loads((APP / "schema" / "result.schema.json").read_text())


class Run:
    """An endless run with a socket; ended by SIGTERM, which gives its result."""

    def __init__(self, emt: Emt, case: Path, folder: Path, *words: str, ranks: int, replaces: int) -> None:
        self.socket, self._result = folder / "live", folder / "result.json"
        launch = ["mpirun", "-n", str(ranks)] if ranks else []
        options = ["--steps=unlimited", "--no-replay", "--live", self.socket, "--result", self._result, *words]
        command = [*launch, emt.program, "run", case, *options]
        self.process = subprocess.Popen(
            list(map(str, command)), env=os.environ | MPI_ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )

        def listens() -> bool:
            there = self.socket.exists() and self.socket.stat().st_mtime_ns != replaces
            return there or self.process.poll() is not None

        until(listens, "the run listens")

    def connect(self) -> socket.socket:
        reader = socket.socket(socket.AF_UNIX)
        reader.settimeout(PATIENCE_S)
        reader.connect(str(self.socket))
        return reader

    def end(self) -> dict[str, Any]:
        # Signal a rank, not mpirun: mpirun would give its ranks only a second.
        ranks = [p for p in psutil.Process(self.process.pid).children(recursive=True) if p.name() == "emt"]
        (ranks or [self.process])[0].send_signal(signal.SIGTERM)
        _, told = self.process.communicate(timeout=PATIENCE_S)
        assert self.process.returncode == 0, told
        assert not self.socket.exists()
        result: dict[str, Any] = json.loads(self._result.read_text())
        jsonschema.validate(result, RESULT_SCHEMA)
        assert result["ended_by"] == "signal"
        return result


@pytest.fixture
def running(emt: Emt, hq: Path, tmp_path: Path) -> Iterator[Callable[..., Run]]:
    runs = []

    def start(*words: str, ranks: int = 0, replaces: int = 0) -> Run:
        runs.append(Run(emt, hq, tmp_path, *words, ranks=ranks, replaces=replaces))
        return runs[-1]

    yield start
    for run in runs:
        run.process.kill()
        run.process.wait(PATIENCE_S)


def _request(reader: socket.socket, signals: list[str], decimate: int = 1) -> dict[str, Any]:
    reader.sendall(json.dumps({"signals": signals, "decimate": decimate}).encode() + b"\n")
    line = b""
    while not line.endswith(b"\n"):
        line += reader.recv(1)
    answer: dict[str, Any] = json.loads(line)
    return answer


def _frames(reader: socket.socket, signals: int, count: int) -> list[tuple[Any, ...]]:
    form = struct.Struct(f"=QQ{signals}d")
    data = b""
    while len(data) < count * form.size:
        data += reader.recv(count * form.size - len(data))
    return list(form.iter_unpack(data))


def _watched(emt: Emt, run: Run, path: Path, *words: str) -> list[list[str]]:
    done = emt("watch", run.socket, "--csv", path, *words)
    assert "rows" in done.stderr and "dropped" in done.stderr
    with path.open(newline="") as file:
        return list(csv.reader(file))


def test_what_is_watched_is_what_the_study_gives_from_any_rank(
    emt: Emt, hq: Path, running: Callable[..., Run], tmp_path: Path
) -> None:
    run = running("--exchange=slack", ranks=2)
    words = ["--signal=S30.*", "--signal=S1.a", "--decimate=7", "--rows=30"]
    header, *rows = _watched(emt, run, tmp_path / "live.csv", *words)
    run.end()
    steps = [round(float(row[0]) / 50e-6) for row in rows]
    assert len(rows) == 30 and all(step % 7 == 0 for step in steps) and steps == sorted(set(steps))
    names = [name for name in header[1:] if name in ("S30.a", "S1.a")]
    assert len(names) == 2 and len(header) > 4
    study = emt.waves(hq, tmp_path, steps[-1], names)
    for name in names:
        at = header.index(name)
        assert [float(row[at]) for row in rows] == [study[name][step] for step in steps]


def test_rows_of_a_reader_are_not_written_through_a_link(emt: Emt, running: Callable[..., Run], tmp_path: Path) -> None:
    run, victim, rows = running(), tmp_path / "victim", tmp_path / "rows.csv"
    victim.write_text("of the user")
    for link in (rows.symlink_to, rows.hardlink_to):
        link(victim)
        assert emt("watch", run.socket, "--signal=S30.a", "--rows=3", "--csv", rows, ok=False).returncode == 1
        assert victim.read_text() == "of the user"
        rows.unlink()
    emt("watch", run.socket, "--signal=S30.a", "--rows=3", "--csv", rows)
    assert len(rows.read_text().splitlines()) == 4
    run.end()


def test_readers_come_and_go_and_garbage_does_no_harm(emt: Emt, running: Callable[..., Run], tmp_path: Path) -> None:
    run = running("--pace=real-time")
    assert stat.S_IMODE(run.socket.stat().st_mode) == 0o600
    with run.connect() as first, run.connect() as silent:
        assert _request(first, ["S30.a"])["signals"] == ["S30.a"]
        _frames(first, 1, 5)
        for garbage in (b"GET / HTTP/1.1\r\n", b"\xff\x00\n", b"[1]\n", b'{"signals": 3, "decimate": 1}\n',
                        b'{"signals": ["S30.a"], "decimate": 0}\n', b"[" * 60000 + b"\n"):  # fmt: skip
            with run.connect() as other:
                other.sendall(garbage)
                assert json.loads(other.makefile().readline()).keys() == {"error"}
                assert other.recv(1) == b""
        with run.connect() as endless, pytest.raises(OSError):
            for _ in range(1000):
                endless.sendall(b"x" * 4096)
        for signals, told in ((["nothing"], "no signal is 'nothing'"), (["*"], "can read 1 to 256 signals")):
            with run.connect() as other:
                assert told in _request(other, signals)["error"]
        with run.connect() as second:
            assert _request(second, ["S1.*"], 3)["dt_s"] == pytest.approx(50e-6)
            _frames(second, 3, 5)
        _frames(first, 1, 5)
        assert silent.recv(1) == b""  # It has to ask soon.
    result = run.end()
    assert result["live"]["readers"] == 2 and result["live"]["refused"] == 10
    unknown = emt("watch", tmp_path / "absent", "--signal=x", ok=False)
    assert unknown.returncode == 1 and "check that a run with --live" in unknown.stderr


def test_costly_and_half_requests_keep_nobody_away(running: Callable[..., Run]) -> None:
    run = running()
    with contextlib.ExitStack() as opened, run.connect() as good:
        assert _request(good, ["S30.a"], 1000)["signals"] == ["S30.a"]
        with run.connect() as costly:
            told = _request(costly, ["*?*?*?*?*?*?*?*"] * 3000)
            assert "it takes too long to find these signals" in told["error"]
        for _ in range(15):  # all places that are left
            half = opened.enter_context(run.connect())
            half.sendall(b'{"signals": ')

        def served() -> bool:
            with run.connect() as late, contextlib.suppress(OSError):
                late.sendall(b'{"signals": ["S1.a"], "decimate": 1000}\n')
                return late.makefile().readline() != ""
            return False

        until(served, "a reader is served although so many say nothing")
        frames = _frames(good, 1, 2)
        assert frames[-1][0] > frames[0][0]
    assert run.end()["live"]["refused"] >= 16


def test_what_a_reader_does_not_take_is_dropped_and_counted_at_both_ends(running: Callable[..., Run]) -> None:
    run = running()
    with run.connect() as slow, run.connect() as quick:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        names = _request(slow, ["S3*"])["signals"]
        assert _request(quick, ["S30.a"], 1000)["signals"] == ["S30.a"]
        # The other goes on although this one takes nothing.
        seen = _frames(quick, 1, 200)
        assert seen[-1][0] >= 200 * 1000
        frames = _frames(slow, len(names), 2)
        while frames[-1][1] == 0:
            frames += _frames(slow, len(names), 50)
        steps, dropped = [frame[0] for frame in frames], frames[-1][1]
        assert dropped == steps[-1] - steps[0] - (len(frames) - 1)
        slow.close()
        quick.close()
    assert run.end()["live"]["dropped"] >= dropped


def test_a_socket_that_is_left_over_is_replaced_and_one_in_use_is_not(
    emt: Emt, hq: Path, running: Callable[..., Run], tmp_path: Path
) -> None:
    killed = running()
    killed.process.kill()
    killed.process.wait(PATIENCE_S)
    assert killed.socket.exists()
    left = killed.socket.stat().st_mtime_ns
    run = running(replaces=left)
    with run.connect() as reader:
        assert _request(reader, ["S30.a"])["signals"]
    words = ["run", hq, "--steps=10", "--no-replay", "--live"]
    for path, told in (
        (run.socket, "another run serves there"),
        (hq, "is no socket"),
        (tmp_path / "no" / "s", "No such file"),
        (tmp_path / ("x" * 120), "a socket's path must have 1 to 107 bytes"),
    ):
        done = emt(*words, path, ok=False)
        assert done.returncode != 0 and told in done.stderr and done.stderr.count("emt: error:") == 1, done.stderr
    assert hq.exists()


def test_steps_held_to_wall_time_are_counted(emt: Emt, hq: Path, tmp_path: Path) -> None:
    result = emt.run(hq, tmp_path, "--steps=2000", "--pace=real-time")
    jsonschema.validate(result, RESULT_SCHEMA)
    assert result["step_us"]["mean"] >= 50 * 0.999 and result["phi_us"] is None
    assert [rank["overruns"] + rank["in_time"] for rank in result["pace"]["per_rank"]] == [2000]
    free = emt.run(hq, tmp_path, "--steps=2000", "--no-replay")
    assert free["checksum"] == result["checksum"]
