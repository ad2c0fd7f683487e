import pytest

from reframe_checks.parsers import job_scripts
from reframe_checks.parsers.text import ParseError

TEXT = "rank 1 on node2 cpus 4 end\nrank 0 on node1 cpus 0-1,8 end\n"


def test_ranks_in_order():
    found = job_scripts.placement(TEXT, expect_ranks=2)
    assert [(rank.rank, rank.node, rank.cpus) for rank in found] == [(0, "node1", "0-1,8"), (1, "node2", "4")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TEXT.replace(" end", "", 1), "line 1: expected `rank N"),
        (TEXT.replace("rank 0", "rank 1"), "each rank from 0 to 1 once, found 1"),
        (TEXT.replace("rank 0", "rank 7"), "found 7"),
        (TEXT.splitlines(keepends=True)[0], "2 ranks, found 1"),
    ],
)
def test_anything_else_is_an_error(text, message):
    with pytest.raises(ParseError, match=message):
        job_scripts.placement(text, expect_ranks=2)
