import json

import pytest

from reframe_checks.parsers import emt_io
from reframe_checks.parsers.errors import ParseError


@pytest.fixture(params=["shared", "rank"])
def text(recorded, request):
    return recorded(f"emt_io/two_nodes_{request.param}.json")


def test_what_each_rank_wrote_and_read(text):
    result, told = emt_io.parse(text), json.loads(text)["waveforms"]
    assert (result.files, result.io, result.verified) == (told["files"], "collective", "other")
    assert [rank.node for rank in result.ranks] == ["node1", "node1", "node2", "node2"]
    assert result.bytes == sum(rank.bytes for rank in result.ranks) == sum(rank.read_bytes for rank in result.ranks)
    assert result.write_mb_s == pytest.approx(1e-6 * result.bytes / result.write_s)
    assert result.read_mb_s == pytest.approx(1e-6 * result.bytes / result.read_s)
    assert all(rank.write_mb_s == pytest.approx(1e-6 * rank.bytes / rank.write_s) for rank in result.ranks)
    assert [rank.read_of for rank in result.ranks] == [2, 3, 0, 1]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"records": 700}, "one record for each 1 of"),
        ({"bytes": 1000}, "channels and bytes of all ranks"),
        ({"verified": "none"}, "was not read back"),
        ({"throughput_mib_s": 1.0}, "throughput_mib_s: .* bytes in"),
        ({"write_s": 9.0}, "of the rank that took longest"),
    ],
)
def test_a_run_that_contradicts_itself_is_refused(text, change, told):
    result = json.loads(text)
    result["waveforms"] |= change
    with pytest.raises(ParseError, match=told):
        emt_io.parse(json.dumps(result) + "\n")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"bytes": 1000}, "records of"),
        ({"read_bytes": 0, "read_mib_s": None}, "what rank 3 wrote"),
        ({"read_of": 1}, "what rank 3 wrote"),
        ({"write_mib_s": None}, "a rate where bytes were moved"),
        ({"read_s": 0, "read_mib_s": None}, "a rate where bytes were moved"),
        ({"rank": 2}, "ranks in their order"),
    ],
)
def test_a_rank_that_contradicts_itself_is_refused(text, change, told):
    result = json.loads(text)
    rank = result["waveforms"]["by_rank"][1]
    rank |= change
    if "bytes" in change:
        rank["write_mib_s"] = 1000 / 2**20 / (rank["write_s"] + rank["flush_s"])
    with pytest.raises(ParseError, match=told):
        emt_io.parse(json.dumps(result) + "\n")
