import os

import pytest

from reframe_checks.localise.bits import golden_bits, judge
from reframe_checks.parsers import core_programs
from tests.planted_bits import planted_bits
from tests.tiers import few_or_many

RESULT = "bits.json"
SHORT = [f"--output={RESULT}", "--seconds=0", "--mib-per-core=16"]


@pytest.fixture(scope="module")
def program(build):
    return build("bits")


@pytest.mark.parametrize("variant", [0, 5])
def test_every_core_has_the_bits_on_record(program, tmp_path, variant):
    program(*SHORT, f"--variant={variant}", ranks=2, cwd=tmp_path)
    sweep = core_programs.BitSweepResult.read((tmp_path / RESULT).read_text())
    assert {(bits.node, bits.core) for bits in sweep.bits} == {
        (node, core) for node in ("node0", "node1") for core in os.sched_getaffinity(0)
    }
    judgement = judge(sweep.bits, variant, golden_bits())
    assert (judgement.findings, judgement.unplaced) == ((), ())
    assert judgement.golden == {"dense", "map", "memory"}


def test_a_core_that_openmp_binds_to_is_not_all_cores(program, tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_PLACES", f"{{{min(os.sched_getaffinity(0))}}}")
    monkeypatch.setenv("OMP_PROC_BIND", "close")
    program(*SHORT, "--works=map", ranks=1, cwd=tmp_path)
    sweep = core_programs.BitSweepResult.read((tmp_path / RESULT).read_text())
    assert {bits.core for bits in sweep.bits} == os.sched_getaffinity(0)


def test_works_are_chosen(program, tmp_path):
    program(*SHORT, "--works=map", "--isa=portable", ranks=1, cwd=tmp_path)
    sweep = core_programs.BitSweepResult.read((tmp_path / RESULT).read_text())
    assert {bits.work for bits in sweep.bits} == {"map"}


def test_two_ranks_on_a_node_are_refused(program, tmp_path):
    done = program(*SHORT, ranks=2, ranks_per_node=2, cwd=tmp_path, ok=False)
    assert done.returncode != 0
    assert "node0 has several ranks" in done.stderr


@few_or_many("trials", 8, 30)
def test_a_flipped_bit_names_its_core(program, tmp_path, trials):
    outcomes = list(planted_bits(program.planted("bits").path, trials, 1, tmp_path))
    assert len(outcomes) == trials
    assert all(seen and named for _, seen, named in outcomes), outcomes
