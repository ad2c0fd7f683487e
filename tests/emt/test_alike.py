"""Every rank simulates the whole case alone: the bits are compared, and a flip in memory is detected."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from kappa.node.watch.look import heartbeat_of
from reframe_checks.localise.bits import golden_bits, judge
from reframe_checks.parsers import core_programs
from tests.mpi_environment import MPI_ENVIRONMENT
from tests.planted_bits import planted_bits
from tests.waiting import until

from .conftest import Emt


@pytest.mark.parametrize("isa", ["auto", "portable"])
def test_every_rank_ends_with_the_bits_on_record(emt: Emt, tmp_path: Path, isa: str) -> None:
    network, result = tmp_path / "network.json", tmp_path / "alike.json"
    emt("generate", "hq", "--network-only", "--seed", "1", "-o", network)
    emt("alike", network, "--seconds", "0", "--isa", isa, "--result", result, ranks=2)
    sweep = core_programs.EmtAlikeResult.read(result.read_text())
    assert len(sweep.bits) == 2
    judgement = judge(sweep.bits, 0, golden_bits())
    assert (judgement.findings, judgement.unplaced) == ((), ())


def test_a_flipped_bit_names_its_core(emt: Emt, tmp_path: Path) -> None:
    outcomes = list(planted_bits(emt.program.parent / "tests/emt_planted", 200, 1, tmp_path))
    assert len(outcomes) == 200
    assert sum(named for _, _, named in outcomes) >= 0.98 * len(outcomes)  # the bound of 0.99 takes more trials


def test_rounds_are_a_phase_of_their_own_in_which_it_beats(emt: Emt, tmp_path: Path) -> None:
    network = tmp_path / "network.json"
    emt("generate", "hq", "--network-only", "--seed", "1", "-o", network)
    command = [emt.program, "alike", network, "--seconds", "300", "--result", tmp_path / "alike.json"]
    running = subprocess.Popen(command, env=os.environ | MPI_ENVIRONMENT)
    try:
        until(lambda: (heartbeat_of(running.pid) or [0, ""])[1] == "rounds of the whole case", "it simulates")
        first = heartbeat_of(running.pid)[0]
        until(lambda: heartbeat_of(running.pid)[0] > first, "it beats")
    finally:
        running.kill()
        running.wait()
