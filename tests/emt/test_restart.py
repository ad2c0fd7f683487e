"""A study goes on from a snapshot with the same bits; one that does not fit is refused; none is ever half written."""

from __future__ import annotations

import json
import os
import random
import signal
import struct
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import psutil
import pytest

from tests.tiers import long
from tests.waiting import PATIENCE_S, until

from .conftest import APP, MPI_ENVIRONMENT, CaseWriter, Emt
from .random_networks import STEPS
from .same_bits import ALONE, Planned, differences, simulate, write_network

RESULT_SCHEMA = json.loads((APP / "schema" / "result.schema.json").read_text())
NETWORKS = 60
STUDY = 20000
HEAD = struct.Struct("<8sQQdQQQQQQQ")


def fnv1a(data: bytes) -> int:
    digest = 0xCBF29CE484222325
    for byte in data:
        digest = (digest ^ byte) * 0x100000001B3 % 2**64
    return digest


@pytest.fixture(scope="module")
def checksum(emt: Emt, hq: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the result of the study without an interruption."""
    value: str = emt.run(hq, tmp_path_factory.mktemp("whole"), f"--steps={STUDY}", "--no-replay")["checksum"]
    return value


@pytest.fixture(scope="module")
def snapshot(emt: Emt, hq: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("snapshot") / "state"
    emt("run", hq, "--steps=1500", "--no-replay", "--snapshot", path, ranks=2)
    return path


def test_random_networks_go_on_elsewhere_with_the_same_bits(emt: Emt, tmp_path: Path) -> None:
    """Breakers, valves, machines, controllers, arresters: the rest in the other exchange mode, with tasks elsewhere."""
    planned = []
    for seed in range(NETWORKS):
        rng = random.Random(seed)
        settings = [
            ALONE
            | {"ranks": rng.randint(1, 4), "exchange": rng.choice(["step", "slack"]), "mapping": 2 * seed}
            | {"restart": {"file": str(tmp_path / "s"), "after_step": rng.randrange(1, STEPS), "mapping": 2 * seed + 1}}
            for _ in range(2)
        ]
        for number, one in enumerate(settings):
            one["restart"]["file"] += f"{seed}-{number}"  # type: ignore[index]
        planned.append(Planned(write_network(seed, tmp_path), STEPS, [ALONE, *settings]))
    told = simulate(emt.program.parent / "tests/emt_same_bits", planned, tmp_path)
    different = {one.case.name: how for one, runs in zip(planned, told, strict=True) if (how := differences(one, runs))}
    assert not different


@pytest.mark.parametrize(
    ("ranks", "settings"),
    [(1, []), (3, ["--exchange=slack"]), (2, ["--exchange=slack", "--transport=message"]), (4, ["--message=line"])],
)
def test_a_study_goes_on_with_another_number_of_ranks_mode_and_transport(
    emt: Emt, hq: Path, checksum: str, snapshot: Path, tmp_path: Path, ranks: int, settings: list[str]
) -> None:
    result = emt.run(hq, tmp_path, f"--steps={STUDY}", "--restart", snapshot, "--no-replay", *settings, ranks=ranks)
    jsonschema.validate(result, RESULT_SCHEMA)
    assert result["checksum"] == checksum
    assert result["steps"] == STUDY - 1500
    assert (result["restart"]["after_step"], result["restart"]["last_step"]) == (1500, STUDY)


def test_steps_before_the_timed_ones_are_counted_once(emt: Emt, hq: Path, snapshot: Path, tmp_path: Path) -> None:
    whole = emt.run(hq, tmp_path, "--warm-up=1000", "--steps=2000")
    for warm_up, timed in ((1000, 1500), (2000, 1000)):
        result = emt.run(hq, tmp_path, f"--warm-up={warm_up}", f"--steps={3000 - warm_up}", "--restart", snapshot)
        assert (result["checksum"], result["steps"]) == (whole["checksum"], timed)
        assert result["replay_exact"]


def _kill_all_of(pid: int) -> None:
    """The launcher and all its ranks, which have left before this returns."""
    launcher = psutil.Process(pid)
    launcher.suspend()  # so that it starts nothing more
    ranks = launcher.children(recursive=True)
    for one in [*ranks, launcher]:
        one.kill()

    def gone(one: psutil.Process) -> bool:
        try:
            return one.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
        except psutil.NoSuchProcess:
            return True

    until(lambda: all(map(gone, ranks)), "the ranks are gone", poll_s=0.005)


def _kills(emt: Emt, hq: Path, tmp_path: Path, kills: int, checksum: str, seed: int) -> None:
    """Ranks are killed at random moments of a study that leaves a snapshot every few steps, and others go on."""
    rng = random.Random(seed)
    state, result = tmp_path / "state", tmp_path / "result.json"
    command = ["run", hq, f"--steps={STUDY}", "--no-replay", "--result", result, "--snapshot", state]
    killed = 0
    while killed < kills:
        more = ["--snapshot-every=23", f"--exchange={rng.choice(['step', 'slack'])}"]
        if killed and state.exists():
            more += ["--restart", state]
        launch = ["mpirun", "-n", str(rng.randint(1, 3))] if rng.random() < 0.5 else []
        words = [*launch, emt.program, *command, *more]
        with subprocess.Popen(
            list(map(str, words)), env=os.environ | MPI_ENVIRONMENT,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        ) as run:  # fmt: skip
            before = state.stat().st_ino if state.exists() else 0

            def another(state: Path = state, before: int = before, run: subprocess.Popen[str] = run) -> bool:
                return run.poll() is not None or (state.exists() and state.stat().st_ino != before)

            until(another, "there is another snapshot", poll_s=0.002)
            time.sleep(rng.uniform(0, 0.05))
            if run.poll() is None:
                _kill_all_of(run.pid)
                killed += 1
            _, told = run.communicate(timeout=PATIENCE_S)
            assert run.returncode in (0, -signal.SIGKILL) or "ends with step" in told, told
            if run.returncode != -signal.SIGKILL:  # the study came to its end: again from the beginning
                state.unlink()
    more = ["--restart", state] if state.exists() else []
    emt(*command, *more, "--exchange=slack", ranks=3)
    assert json.loads(result.read_text())["checksum"] == checksum


def test_a_study_that_is_killed_goes_on_from_the_last_whole_snapshot(
    emt: Emt, hq: Path, checksum: str, tmp_path: Path
) -> None:
    _kills(emt, hq, tmp_path, 5, checksum, seed=1)


@long
def test_a_study_is_killed_fifty_times(emt: Emt, hq: Path, checksum: str, tmp_path: Path) -> None:
    _kills(emt, hq, tmp_path, 50, checksum, seed=2)


def sealed(head: bytes, body: bytes) -> bytes:
    """Return the snapshot with this body and right checksums."""
    fields = [*HEAD.unpack(head)[:8], len(body), fnv1a(body)]
    return HEAD.pack(*fields, fnv1a(HEAD.pack(*fields, 0)[:-8])) + body


def _version_zero(data: bytes) -> bytes:
    return data[:8] + struct.pack("<Q", 0) + data[16:]


def _flip(at: int) -> Callable[[bytes], bytes]:
    return lambda data: data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda data: b"", "no snapshot of emt"),
        (lambda data: b"#!/bin/sh\n" + data, "no snapshot of emt"),
        (_version_zero, "format version 0, but this program reads version 2: continue with the program that wrote it"),
        (lambda data: data[:60], "is damaged: the checksum of its head"),
        (_flip(33), "is damaged: the checksum of its head"),
        (lambda data: data[:-1], "is damaged: 24"),
        (lambda data: data + b"\0", "is damaged: 24"),
        (_flip(HEAD.size), "is damaged: the checksum of its content"),
        (_flip(200_000), "is damaged: the checksum of its content"),
    ],
)
def test_a_damaged_or_older_snapshot_is_refused_with_the_reason(
    emt: Emt, hq: Path, snapshot: Path, tmp_path: Path, spoil: Callable[[bytes], bytes], told: str
) -> None:
    (tmp_path / "spoilt").write_bytes(spoil(snapshot.read_bytes()))
    done = emt("run", hq, "--steps=2000", "--restart", tmp_path / "spoilt", ok=False)
    assert done.returncode != 0
    assert f"{tmp_path}/spoilt" in done.stderr and told in done.stderr, done.stderr


def test_a_snapshot_that_is_whole_but_lacks_a_record_is_refused(
    emt: Emt, hq: Path, snapshot: Path, tmp_path: Path
) -> None:
    data = snapshot.read_bytes()
    size = struct.unpack_from("<IiQ", data, HEAD.size)[2]
    (tmp_path / "less").write_bytes(sealed(data[: HEAD.size], data[HEAD.size + 16 + size :]))
    done = emt("run", hq, "--steps=2000", "--restart", tmp_path / "less", ok=False)
    assert done.returncode != 0 and "does not fit this program" in done.stderr and "lacks a record" in done.stderr


def test_a_foreign_or_unreadable_snapshot_is_refused_with_the_reason(
    emt: Emt, hq: Path, snapshot: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.json"
    other.write_text(hq.read_text() + "\n")
    for case, words, ranks, told in (
        (other, [], 2, "is a snapshot of another case: give the case file"),
        (hq, ["--dt=2e-5"], 0, "time step of 5.0000000000000002e-05 s, but this run has 2"),
        (hq, ["--steps=1500"], 0, "this run ends with step 1500: give more --steps"),
    ):
        done = emt("run", case, "--restart", snapshot, *words, ok=False, ranks=ranks)
        assert done.returncode != 0 and told in done.stderr and done.stderr.count("emt: error:") == 1, done.stderr
    for path, why in ((tmp_path / "absent", "No such file"), (tmp_path, "directory")):
        done = emt("run", hq, "--restart", path, ok=False)
        assert done.returncode != 0 and f"{path}: the snapshot cannot be read" in done.stderr and why in done.stderr


def test_a_snapshot_that_cannot_be_written_ends_the_run_and_leaves_the_older(
    emt: Emt, hq: Path, snapshot: Path, tmp_path: Path
) -> None:
    done = emt("run", hq, "--steps=10", "--snapshot", tmp_path / "no" / "s", ok=False)
    assert done.returncode != 0 and "cannot be written: No such file" in done.stderr
    state = tmp_path / "state"
    state.write_bytes(snapshot.read_bytes())
    (tmp_path / "state.part").mkdir()
    done = emt("run", hq, "--steps=10", "--snapshot", state, ok=False)
    assert done.returncode != 0 and "an older file with this name is intact" in done.stderr
    assert state.read_bytes() == snapshot.read_bytes()


@pytest.mark.parametrize("every", ["0", "0s", "-1s", "10m", "s", "infs", "1 s"])
def test_how_often_is_steps_or_seconds(emt: Emt, hq: Path, tmp_path: Path, every: str) -> None:
    done = emt("run", hq, "--steps=10", "--snapshot", tmp_path / "s", f"--snapshot-every={every}", ok=False)
    assert done.returncode != 0 and "give steps (10000) or seconds of wall time (30s)" in done.stderr


def test_a_signal_ends_an_endless_run_with_a_result_and_a_snapshot_every_so_many_seconds(
    emt: Emt, hq: Path, tmp_path: Path
) -> None:
    state, result = tmp_path / "state", tmp_path / "result.json"
    words = ["run", hq, "--steps=unlimited", "--no-replay", "--result", result, "--snapshot", state]
    command = [emt.program, *words, "--snapshot-every=0.05s"]
    with subprocess.Popen(list(map(str, command)), env=os.environ | MPI_ENVIRONMENT, stdout=subprocess.DEVNULL) as run:
        until(state.exists, "there is a snapshot")
        first = state.stat().st_ino
        until(lambda: state.stat().st_ino != first, "there is another")
        run.send_signal(signal.SIGTERM)
        assert run.wait(PATIENCE_S) == 0
    told: dict[str, Any] = json.loads(result.read_text())
    jsonschema.validate(told, RESULT_SCHEMA)
    assert (told["ended_by"], told["snapshot"]["step"]) == ("signal", told["steps"])
    assert told["snapshot"]["written"] > 2
    whole = emt.run(hq, tmp_path, f"--steps={told['steps']}", "--no-replay")
    assert whole["checksum"] == told["checksum"]


ARRESTER = [
    {"type": "voltage_source", "name": "E", "to": "n", "r": 1, "amplitude": 1500},
    {"type": "arrester", "name": "A", "nodes": ["n", "0"], "curve": [[1000, 1], [1400, 100]]},
]


def test_an_energy_goes_on_from_what_it_was(emt: Emt, case_file: CaseWriter, tmp_path: Path) -> None:
    case = case_file(ARRESTER, dt=5e-5, nodes=["n"])
    whole = emt.waves(case, tmp_path, 600, ["A.energy", "n"])
    state = tmp_path / "state"
    probes = ["--probe=A.energy", "--probe=n"]
    csv = ["--no-replay", "--csv", tmp_path / "waves.csv"]
    emt("run", case, "--steps=250", "--snapshot", state, *csv, *probes)
    rest = emt.waves(case, tmp_path, 600, ["A.energy", "n"], f"--restart={state}")
    assert rest["time"][0] == pytest.approx(250 * 5e-5) and whole["A.energy"][-1] > 1
    assert {name: values[250:] for name, values in whole.items()} == rest
    emt("run", case, "--steps=250", "--snapshot", state, *csv, "--probe=n")
    done = emt("run", case, "--steps=600", "--restart", state, *csv, *probes, ok=False)
    assert done.returncode != 0 and "no sum for channel 3" in done.stderr


@pytest.mark.parametrize("segment", [2, -2, 10**9, 2**31 - 1, -(2**31)])
def test_crafted_snapshot_with_right_checksums_is_refused(
    emt: Emt, case_file: CaseWriter, tmp_path: Path, segment: int
) -> None:
    case, state = case_file(ARRESTER, dt=5e-5, nodes=["n"]), tmp_path / "state"
    emt("run", case, "--steps=1", "--no-replay", "--snapshot", state)
    head, body = state.read_bytes()[: HEAD.size], bytearray(state.read_bytes()[HEAD.size :])
    struct.pack_into("<i", body, 16, segment)  # behind the head of the only task's record
    state.write_bytes(sealed(head, bytes(body)))
    done = emt("run", case, "--steps=400", "--no-replay", "--restart", state, ok=False)
    assert done.returncode == 1
    assert f"{state} is not damaged, but does not fit" in done.stderr


def test_restart_from_a_pipe_is_refused(emt: Emt, hq: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "state")
    assert emt("run", hq, "--restart", tmp_path / "state", ok=False).returncode == 1


def test_snapshot_is_not_written_through_a_link(emt: Emt, case_file: CaseWriter, tmp_path: Path) -> None:
    case, state, victim = case_file(ARRESTER, dt=5e-5, nodes=["n"]), tmp_path / "state", tmp_path / "victim"
    victim.write_text("of the user")
    for link in (state, tmp_path / "state.part"):
        link.symlink_to(victim)
        emt("run", case, "--steps=2", "--no-replay", "--snapshot", state)
        assert victim.read_text() == "of the user"
        assert state.read_bytes().startswith(b"EMTSNAP\n") and not state.is_symlink()
