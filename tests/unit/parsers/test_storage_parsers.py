"""IOR, mdtest, BT-IO and IOzone: values read from recorded output, and refused output."""

import re

import pytest

from reframe_checks.parsers import file_benchmarks, ior, mdtest
from reframe_checks.parsers.text import ParseError

CELLS = {(size << 10, request) for size in (4, 8, 16) for request in (64, 256, 1024)}


def test_ior_that_compared_its_data(recorded):
    result = ior.parse(recorded("ior/mpiio_collective_checked.json"))
    assert (result.check_write, result.check_read) == (True, True)
    assert (result.transfer_bytes, result.segments) == (47008, 40)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('"bwMaxMIB": 1944.3391', '"bwMaxMIB": 1944.5', "bwMaxMIB"),
        ('"bwMiB": 1738.2114', '"bwMiB": 1739.2114', "bwMeanMIB"),
        ('"totalTime": 0.0092', '"totalTime": 0.0195', "MeanTime"),
        ('"wrRdTime": 0.0', '"wrRdTime": 0.1', "iops, wrRdTime"),
        ('"tasks": 2', '"tasks": 4', "numTasks"),
        ('"bwMiB": 1944.3391', '"bwMiB": NaN', "a finite number"),
        ('"access": "write"', '"access": "remove"', "access: write or read"),
    ],
)
def test_ior_that_contradicts_itself(recorded, old, new, expected):
    text = recorded("ior/posix_file_per_process.json")
    assert old in text
    with pytest.raises(ParseError, match=expected):
        ior.parse(text.replace(old, new, 1))


def test_ior_that_stopped_at_a_stonewall(recorded):
    text = recorded("ior/posix_stonewall.json")
    result = ior.parse(text)
    assert (result.stonewall_s, result.wear_out) == (1, True)
    assert 0 < result.written_bytes < 3 * (4 << 30)
    with pytest.raises(ParseError, match="the file of 4096"):
        ior.parse(text.replace('"deadlineForStonewall": 1', '"deadlineForStonewall": 0'))
    assert ior.parse(recorded("ior/posix_file_per_process.json")).stonewall_s == 0


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (" 566.0 POSIX", " 564.0 POSIX", "566.0 MiB by rate and mean time"),
        ("1.33382 ", "1.3338 ", "five decimals"),
    ],
)
def test_ior_text_that_contradicts_itself(recorded, old, new, expected):
    text = recorded("ior/posix_text_stonewall.txt")
    assert old in text
    with pytest.raises(ParseError, match=expected):
        ior.parse(text.replace(old, new))


def test_ior_text_has_both_operations_though_a_line_came_between_them(recorded):
    text = recorded("ior/mpiio_text_checked.txt")
    *before, read, finished = text.splitlines(keepends=True)
    assert (read[:4], finished[:8]) == ("read", "Finished")
    assert ior.parse("".join([*before, finished, read])) == ior.parse(text)


def test_mdtest_of_files_only(recorded):
    assert "Directory creation" not in mdtest.parse(recorded("mdtest/files_only.txt")).rates


def test_mdtest_asked_for_times_has_a_table_of_them(recorded):
    with pytest.raises(ParseError, match="a table of times after the table of rates with the option -P"):
        mdtest.parse(recorded("mdtest/files_only.txt").replace("'-F'", "'-F' '-P'"))


def test_mdtest_that_reports_an_error(recorded):
    text = recorded("mdtest/files_only.txt").replace("Nodemap", "ERROR: unable to create file\nNodemap")
    with pytest.raises(ParseError, match="a run without errors"):
        mdtest.parse(text)


def test_btio_on_a_number_of_ranks_that_is_no_square(recorded):
    with pytest.raises(ParseError, match="a square number"):
        file_benchmarks.btio(recorded("btio/two_ranks_one_active.txt"))


def test_btio_too_short_for_two_decimals(recorded):
    text = recorded("btio/full_four_ranks.txt").replace("           0.05", "           0.00", 1)
    with pytest.raises(ParseError, match="above 0"):
        file_benchmarks.btio(text)


def test_btio_not_verified(recorded):
    text = recorded("btio/full_four_ranks.txt").replace("SUCCESSFUL", "UNSUCCESSFUL")
    with pytest.raises(ParseError, match="SUCCESSFUL"):
        file_benchmarks.btio(text)


def test_iozone(recorded):
    result = file_benchmarks.iozone(recorded("iozone/direct.txt"), expect_cells=CELLS)
    assert (result.direct, result.sync, result.fsync, result.close) == (True, False, True, True)
    assert set(result.rates["write"]) == CELLS
    cells = {(size << 10, request) for size in (4, 8) for request in (64, 1024)}
    assert file_benchmarks.iozone(recorded("iozone/direct_sync.txt"), expect_cells=cells).sync


def test_iozone_map_with_a_hole(recorded):
    with pytest.raises(ParseError, match="a row for 32768 KiB by 64 KiB"):
        file_benchmarks.iozone(recorded("iozone/direct.txt"), expect_cells={*CELLS, (32768, 64)})


def test_mdtest_made_what_the_fastest_rank_had_reached_at_each_stonewall(recorded):
    text = recorded("mdtest/files_stonewall.txt")
    assert mdtest.parse(text).made == 2 * (13177 + 447)
    once = text.replace("Continue stonewall hit min: 280 max: 447 avg: 363.5 \n", "")
    assert mdtest.parse(once).made == 2 * 13177 + 100000
    with pytest.raises(ParseError, match="minimum <= average <= maximum <= 50000"):
        mdtest.parse(text.replace("max: 13177", "max: 10"))


def test_mdtest_with_rates_of_ranks(recorded):
    text = recorded("mdtest/files_stonewall.txt")
    rate = r"( +[0-9]+\.[0-9]{3})"
    with_ranks = re.sub(rf"^(   [A-Z][a-z]+ [a-z]+){4 * rate}$", r"\1\2\3\4    \2\3\4\5", text, flags=re.MULTILINE)
    with pytest.raises(ParseError, match="a row `OPERATION MAX MIN MEAN STD-DEV`"):
        mdtest.parse(with_ranks)
    titles = re.compile(r"^(   Operation +)(Max +Min +Mean +Std Dev)$", re.MULTILINE)
    with_ranks = titles.sub(r"\1per Rank: Max            Min           Mean      per Iteration: \2", with_ranks)
    assert mdtest.parse(with_ranks).rates == mdtest.parse(text).rates


def test_ior_as_text(recorded):
    result = ior.parse(recorded("ior/posix_text.txt"))
    assert (result.api, result.tasks, result.fsync) == ("POSIX", 2, True)
    assert (result.transfer_bytes, result.block_bytes, result.segments) == (1 << 20, 8 << 20, 2)
    assert [round(rate / 1.048576, 2) for rate in result.write_mb_s] == [1290.43, 943.95, 552.20]
    assert [round(rate / 1.048576, 2) for rate in result.read_mb_s] == [1966.10, 1924.24, 15944]
    assert result.written_bytes == 3 * 2 * 2 * (8 << 20)


def test_ior_as_text_that_compared_its_data(recorded):
    text = recorded("ior/mpiio_text_checked.txt")
    result = ior.parse(text)
    assert (result.check_write, result.check_read, result.fsync) == (True, True, False)
    with pytest.raises(ParseError, match="a run without errors"):
        ior.parse(text.replace("remove ", "WARNING: Incorrect data on read (3 errors found).\nremove ", 1))
    with pytest.raises(ParseError, match=r"line 1: expected IOR 3\.2 to 4, the versions that are known"):
        ior.parse(text.replace("IOR-4.0.0", "IOR-2.10.3"))


def test_ior_as_text_with_a_stonewall(recorded):
    text = recorded("ior/posix_text_stonewall.txt")
    result = ior.parse(text)
    assert (result.stonewall_s, result.wear_out, result.written_bytes >> 20) == (1, True, 566)
    with pytest.raises(ParseError, match="the program, a name with `ior`, before its options"):
        ior.parse(text.replace("ior -a POSIX -b 64m -t 1m -s 16 -F -e", "-e"))


def test_ior_3_2_has_fewer_columns(recorded):
    """By ``ior-output.c`` of 3.2.1: no operations and no latency."""
    shorter = []
    for line in recorded("ior/posix_text.txt").replace("IOR-4.0.0", "IOR-3.2.1").splitlines():
        words = line.split()
        rows = len(words) == 11 and words[0] in ("access", "------", "write", "read")
        shorter.append("  ".join([*words[:2], *words[4:]]).replace("access  ", "access    ") if rows else line)
    text = "".join(f"{line}\n" for line in shorter)
    assert ior.parse(text).write_mb_s == ior.parse(recorded("ior/posix_text.txt")).write_mb_s
