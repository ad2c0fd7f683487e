"""The behaviour of MPI on ranks of this machine: readable results, and messages about wrong or missing ones.

It takes a minute.
"""

from functools import partial

import pytest

from reframe_checks.parsers import mpi_behaviour

pytestmark = pytest.mark.long

SHORT = ["--repeats=2", "--iterations=4"]
#: Words -> ranks and parser.
SMALL = {
    "any-source": (4, mpi_behaviour.AnySourceResult.read),
    "any-source --bytes=1003 --most-sources=1": (3, mpi_behaviour.AnySourceResult.read),
    "threads --level=multiple --threads=1,2": (2, partial(mpi_behaviour.threads, expect_threads=[1, 2])),
    "memory": (5, mpi_behaviour.MemoryResult.read),
    "matching --depths=0,3,40": (2, partial(mpi_behaviour.MatchingResult.read, depths=[0, 3, 40])),
}
#: Those in which rank 1 sends by MPI_Send, whose message can be lost.
ANSWERED = [words for words in SMALL if words.startswith(("any-source", "threads", "matching"))]


@pytest.fixture(scope="module")
def program(build):
    return build("mpi")


@pytest.fixture
def planted(program, monkeypatch):
    def choose(fault):
        monkeypatch.setenv("PLANTED", fault)
        return program.planted("sender")

    return choose


@pytest.mark.parametrize("words", SMALL)
def test_a_result_is_whole(program, tmp_path, words):
    ranks, parse = SMALL[words]
    program(*SHORT, "--output=result.json", *words.split(), ranks=ranks, cwd=tmp_path)
    found = parse((tmp_path / "result.json").read_text(), ranks=ranks)
    assert (found.run.nodes, found.repeats) == (ranks, 2)
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]


@pytest.mark.parametrize("words", SMALL)
def test_a_flipped_bit_is_said(planted, tmp_path, words):
    done = planted("flip")(*SHORT, *words.split(), ranks=SMALL[words][0], cwd=tmp_path, ok=False)
    assert done.returncode != 0
    assert "wrong payload: " in done.stderr


@pytest.mark.parametrize("words", ANSWERED)
def test_a_lost_message_is_waited_for_only_so_long(planted, tmp_path, words):
    done = planted("lose")("--timeout-s=1", *SHORT, *words.split(), ranks=SMALL[words][0], cwd=tmp_path, ok=False)
    assert done.returncode != 0
    assert "no answer for 1 s" in done.stderr


def test_the_ranks_of_a_node_share_a_window(program, tmp_path):
    words = ["shared-window", "--sizes=8,1000", "--table-mib=4"]
    done = program(*SHORT, *words, ranks=3, ranks_per_node=3, cwd=tmp_path)
    found = mpi_behaviour.SharedWindowResult.read(done.stdout, ranks=3, sizes=[8, 1000], table_mib=4)
    assert found.copies.mib > 2 * found.shared.mib


def test_a_flipped_bit_of_a_broadcast_is_said(planted, tmp_path):
    done = planted("flip")(*SHORT, "shared-window", ranks=2, ranks_per_node=2, cwd=tmp_path, ok=False)
    assert done.returncode != 0
    assert "wrong payload: " in done.stderr


def test_sums_are_of_whole_words(program, tmp_path):
    done = program("shared-window", "--sizes=1003", ranks=2, ranks_per_node=2, cwd=tmp_path, ok=False)
    assert done.returncode != 0
    assert "no multiple of 8" in done.stderr


@pytest.mark.parametrize("level", mpi_behaviour.THREAD_LEVELS)
def test_each_level_of_thread_support_is_asked_for(program, tmp_path, level):
    done = program(*SHORT, "threads", f"--level={level}", "--threads=1,2", ranks=2, cwd=tmp_path)
    found = mpi_behaviour.threads(done.stdout, ranks=2, expect_threads=[1, 2])
    assert found.asked == level


@pytest.mark.parametrize("words", ["threads", "matching"])
def test_a_pair_has_two_ranks(program, tmp_path, words):
    done = program(words, ranks=3, cwd=tmp_path, ok=False)
    assert done.returncode != 0
    assert "expected 2 ranks, found 3" in done.stderr


def test_one_rank_alone_is_said(program, tmp_path):
    done = program("any-source", ranks=1, cwd=tmp_path, ok=False)
    assert done.returncode != 0
    assert "found one rank" in done.stderr
