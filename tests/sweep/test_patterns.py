"""The communication patterns on ranks of this machine: right data, and messages about wrong or missing data.

It takes a minute.
"""

import pytest

from reframe_checks.parsers import patterns

pytestmark = pytest.mark.long

GRAPH = "0 1 2 24  # rank, rank, lines, bytes\n1 2 3 24\n"
SMALL = {
    "random-ring --way=isend --bytes=1003": patterns.RandomRingResult.read,
    "random-ring --way=put --bytes=1003": patterns.RandomRingResult.read,
    "random-ring --way=get --bytes=1003": patterns.RandomRingResult.read,
    "barrier --algorithm=ring": patterns.PutBarrierResult.read,
    "barrier --algorithm=recursive-doubling": patterns.PutBarrierResult.read,
    "particles --barrier=before --drawn=2000": patterns.ParticleExchangeResult.read,
    "particles --barrier=after --within-nodes=no --drawn=2000": patterns.ParticleExchangeResult.read,
    "neighbour --message=pair --graph=graph.txt": patterns.NeighbourExchangeResult.read,
    "neighbour --message=line --graph=graph.txt": patterns.NeighbourExchangeResult.read,
    "allreduce --largest-bytes=256": patterns.AllreduceResult.read,
}
#: Patterns in which rank 1 sends, gets or adds compared data.
COMPARED = [words for words in SMALL if not words.startswith("barrier")]


@pytest.fixture(scope="module")
def program(build):
    return build("pattern")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "graph.txt").write_text(GRAPH)
    return tmp_path


@pytest.mark.parametrize("words", SMALL)
def test_what_arrives_is_right(program, folder, words):
    program("--iterations=2", "--output=result.json", *words.split(), ranks=3, cwd=folder)
    found = SMALL[words]((folder / "result.json").read_text(), ranks=3)
    assert (found.iterations, found.run.nodes, found.simulated) == (2, 3, False)


@pytest.mark.parametrize("ranks", [2, 4, 5, 6])
def test_a_barrier_of_any_number_of_ranks(program, folder, ranks):
    done = program("--iterations=1", "barrier", "--algorithm=recursive-doubling", ranks=ranks, cwd=folder)
    patterns.PutBarrierResult.read(done.stdout, ranks=ranks)


@pytest.mark.parametrize("words", COMPARED)
def test_a_flipped_bit_is_said(program, folder, monkeypatch, words):
    monkeypatch.setenv("PLANTED", "flip")
    done = program.planted("sender")(*words.split(), ranks=3, cwd=folder, ok=False)
    assert done.returncode != 0
    assert "wrong payload: 1 of" in done.stderr


@pytest.mark.parametrize("words", ["random-ring --way=put --bytes=8", "barrier", "particles --drawn=2000"])
def test_a_lost_word_is_waited_for_only_so_long(program, folder, monkeypatch, words):
    monkeypatch.setenv("PLANTED", "lose")
    done = program.planted("sender")("--timeout-s=1", *words.split(), ranks=3, cwd=folder, ok=False)
    assert done.returncode != 0
    assert "of rank 1 did not come for 1 s" in done.stderr or "no answer for 1 s" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("neighbour --graph=none.txt", "cannot read the graph none.txt"),
        ("neighbour --graph=wrong.txt", "wrong.txt, line 2: expected `RANK RANK LINES BYTES`"),
        ("allreduce --where=in-network", "is for simulated machines"),
    ],
)
def test_what_cannot_be_done_is_said(program, folder, words, message):
    (folder / "wrong.txt").write_text("0 1 2 24\n0 3 1 24\n")
    done = program(*words.split(), ranks=3, cwd=folder, ok=False)
    assert done.returncode != 0
    assert message in done.stderr
