"""The behaviour of MPI on ranks of this machine: what is measured can be read, and what is wrong or missing is said.

It takes a minute, and half of one to build with sanitizers.
"""

import pytest

from reframe_checks.parsers import mpi_behaviour

pytestmark = pytest.mark.long

SHORT = ["--repeats=2", "--iterations=4"]
#: Words -> ranks and parser.
SMALL = {
    "any-source": (4, mpi_behaviour.any_source),
    "any-source --bytes=1003 --most-sources=1": (3, mpi_behaviour.any_source),
}


@pytest.fixture(scope="module")
def program(build):
    return build("reframe_checks/network/src/mpi_behaviour")


@pytest.fixture
def planted(program, monkeypatch):
    def choose(fault):
        monkeypatch.setenv("PLANTED", fault)
        monkeypatch.setattr(program, "path", program.folder / "mpi_behaviour_planted")
        return program

    return choose


@pytest.mark.parametrize("words", SMALL)
def test_a_result_is_whole(program, tmp_path, words):
    ranks, parse = SMALL[words]
    program(*SHORT, "--output=result.json", *words.split(), ranks=ranks, cwd=tmp_path)
    found = parse((tmp_path / "result.json").read_text(), expect_ranks=ranks)
    assert (found.nodes, found.repeats) == (ranks, 2)
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]


@pytest.mark.parametrize("words", SMALL)
def test_a_flipped_bit_is_said(planted, tmp_path, words):
    done = planted("flip")(*SHORT, *words.split(), ranks=SMALL[words][0], cwd=tmp_path, ok=False)
    assert done.returncode != 0
    assert "wrong payload: 1 of" in done.stderr
    assert "from rank 1 to rank 0" in done.stderr


@pytest.mark.parametrize("words", SMALL)
def test_a_lost_message_is_waited_for_only_so_long(planted, tmp_path, words):
    done = planted("lose")("--timeout-s=1", *SHORT, *words.split(), ranks=SMALL[words][0], cwd=tmp_path, ok=False)
    assert done.returncode != 0
    assert "nothing came for 1 s" in done.stderr


def test_one_rank_alone_is_said(program, tmp_path):
    done = program("any-source", ranks=1, cwd=tmp_path, ok=False)
    assert done.returncode != 0
    assert "one rank alone" in done.stderr
