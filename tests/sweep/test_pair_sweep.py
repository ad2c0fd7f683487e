import pytest

from reframe_checks.parsers import pair_sweep
from tests.planted_bits import planted_payloads

RESULT = "pairs.json"
FEW = ["--round-trips=5", "--repeats=2", "--window=2", "--bandwidth-bytes=4096"]
SHORT = [f"--output={RESULT}", *FEW]


@pytest.fixture(scope="module")
def program(build):
    return build("pairs")


@pytest.mark.parametrize("nodes", [2, 4, 5])
def test_every_pair_is_measured(program, tmp_path, nodes):
    program(*SHORT, ranks=nodes, cwd=tmp_path)
    sweep = pair_sweep.PairSweepResult.read((tmp_path / RESULT).read_text())
    assert sweep.nodes == tuple(f"node{number}" for number in range(nodes))
    assert sweep.not_measured == []
    assert [path.name for path in tmp_path.iterdir()] == [RESULT]


def test_a_flipped_bit_of_a_message_names_its_pair(program, tmp_path):
    outcomes = list(planted_payloads(program.planted("receiver").path, 8, 1, tmp_path))
    assert len(outcomes) == 8
    assert all(seen and named for _, seen, named in outcomes), outcomes


def test_several_ranks_on_a_node(program, tmp_path):
    program(*SHORT, ranks=6, ranks_per_node=2, cwd=tmp_path)
    sweep = pair_sweep.PairSweepResult.read((tmp_path / RESULT).read_text())
    assert (len(sweep.nodes), sweep.ranks_per_node) == (3, 2)
    assert sweep.not_measured == []


def test_the_worst_pairs_are_measured_alone(program, tmp_path):
    program(*SHORT, "--alone-share=1", "--alone-most=2", ranks=4, cwd=tmp_path)
    assert len(pair_sweep.PairSweepResult.read((tmp_path / RESULT).read_text()).alone) == 2


@pytest.mark.parametrize(
    ("ranks", "ranks_per_node", "message"),
    [(2, 2, "all ranks are on node0"), (3, 2, "node1 has 1 ranks, but node0 has 2")],
)
def test_ranks_that_cannot_be_paired(program, tmp_path, ranks, ranks_per_node, message):
    done = program(*SHORT, ranks=ranks, ranks_per_node=ranks_per_node, cwd=tmp_path, ok=False)
    assert done.returncode != 0
    assert message in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_place_that_cannot_be_written(program, tmp_path):
    done = program(*FEW, "--output=none/there.json", ranks=2, cwd=tmp_path, ok=False)
    assert done.returncode != 0
    assert "cannot write none/there.json.part: No such file" in done.stderr
