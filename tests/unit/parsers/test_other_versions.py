"""Layouts of versions and vendors that could not be recorded: written by the formats in their sources.

None of these is a recording: each test says which source gives the format.
"""

import pytest

from reframe_checks.parsers import gpu, hpcg, hpl, mdtest, osu
from reframe_checks.parsers.text import ParseError

HPCG = "hpcg/two_ranks_short.txt"


@pytest.mark.parametrize(
    ("title", "heading", "row", "found"),
    [
        ("OSU MPI Latency Test v5.0", "# Size          Latency (us)", "8      1.21", {8: (1.21,)}),
        ("OSU MPI Latency Test v7.0-site1", "Size          Latency (us)", "8      1.21", {8: (1.21,)}),
        ("OSU MPI-CUDA Bandwidth Test v5.9", "# Size      Bandwidth (MB/s)", "8      12.10", {8: (12.10,)}),
        ("OSU MPI Barrier Latency Test v5.6.2", "       Avg Latency(us)", "         1.21", {0: (1.21,)}),
        (
            "OSU MPI Allreduce Latency Test v7.5",
            "# Size       Avg Latency(us) P50 Tail Lat(us) P99.9 Tail Lat(us)",
            "8      1.21   1.20    9.10",
            {8: (1.21, 1.20, 9.10)},
        ),
        (
            "OSU MPI_Get latency Test v6.1",
            "# Size          Latency (us)     Validation",
            "8   1.21  Pass",
            {8: (1.21,)},
        ),
    ],
)
def test_tables_of_osu(title, heading, row, found):
    """By ``print_preamble`` and the like of its ``util``."""
    (table,) = osu.parse(f"# {title}\n# Window creation: MPI_Win_allocate\n{heading}\n{row}\n")
    assert table.rows == found


OSU_7_1 = """# OSU MPI Latency Test v7.1
# Size          Latency (us)
# Datatype: MPI_CHAR.
1                       3.16
# Datatype: MPI_INT.
4                       3.14
"""


def test_osu_names_the_datatype_below_the_headings():
    """7.1, as users published it; several datatypes as ``-T all`` asks for them."""
    found = [(table.datatype, table.rows, table.columns[0].name) for table in osu.parse(OSU_7_1)]
    assert found == [("MPI_CHAR", {1: (3.16,)}, "Latency"), ("MPI_INT", {4: (3.14,)}, "Latency")]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("MPI_INT", "MPI_CHAR", "line 5: expected a title"),
        ("1                       3.16\n", "", "line 4: expected a row of figures"),
        ("# Size ", "# Datatype: MPI_INT.\n# Size ", "line 4: expected a row of figures"),
        ("# Datatype: MPI_CHAR.\n", "", "line 5: expected a title"),
    ],
)
def test_datatypes_below_the_headings_that_contradict_each_other(old, new, message):
    with pytest.raises(ParseError, match=message):
        osu.parse(OSU_7_1.replace(old, new))


def mdtest_3(version, quote, separator):
    """By ``mdtest.c`` of 3.2.1 and 3.3.0."""
    rows = [(name, 20.0) for name in ("File creation", "File stat", "File read", "File removal")]
    table = "".join(
        f"   {name:<18}{separator} {high:14.3f} {high:14.3f} {high:14.3f} {0:14.3f}\n" for name, high in rows
    )
    trees = "".join(
        f"   {name:<18}{separator} {5:14.3f} {5:14.3f} {5:14.3f} {0:14.3f}\n"
        for name in ("Tree creation", "Tree removal")
    )
    stonewall = f"   File create (stonewall)   : {'NA':>14} {'NA':>14} {21:14.3f} {'NA':>14}\n"
    return (
        f"-- started at 01/02/2020 10:00:00 --\n\nmdtest-{version} was launched with 4 total task(s) on 2 node(s)\n"
        f"Command line used: ./mdtest {quote}-n{quote} {quote}10{quote} {quote}-F{quote}\nPath: /scratch\n"
        "FS: 1.0 TiB   Used FS: 2.0%   Inodes: 1.0 Mi   Used Inodes: 3.0%\n\n4 tasks, 40 files\n\n"
        "SUMMARY rate: (of 1 iterations)\n"
        "   Operation                      Max            Min           Mean        Std Dev\n"
        f"   ---------                      ---            ---           ----        -------\n{table}"
        f"{stonewall if version == '3.3.0' else ''}{trees}\n-- finished at 01/02/2020 10:00:01 --\n"
    )


@pytest.mark.parametrize(("version", "quote", "separator"), [("3.2.1", '"', ":"), ("3.3.0", "'", "        :")])
def test_mdtest_3(version, quote, separator):
    result = mdtest.parse(mdtest_3(version, quote, separator))
    assert (result.version, result.options) == (version, f"{quote}-n{quote} {quote}10{quote} {quote}-F{quote}")
    assert {name: rate.mean for name, rate in result.rates.items()} == {
        "File creation": 20, "File stat": 20, "File read": 20, "File removal": 20,
        "Tree creation": 5, "Tree removal": 5,
    }  # fmt: skip


def test_mdtest_of_one_file_on_storage_without_a_path():
    """``-S``, and ``-a DFS`` of DAOS, by ``mdtest.c`` of 3.2 and later."""
    warned = "WARNING: unable to use realpath() on file system.\nPath: /scratch"
    text = mdtest_3("3.3.0", "'", "        :").replace("4 tasks, 40 files", "4 tasks, 1 file")
    result = mdtest.parse(text.replace("Path: /scratch", warned))
    assert (result.items, result.rates["File stat"].mean) == (1, 20)
    with pytest.raises(ParseError, match="line 5: expected a run without errors"):
        mdtest.parse(text.replace("Path: /scratch", "WARNING: unable to stat file /scratch/1"))


def test_a_version_of_mdtest_that_is_not_known():
    with pytest.raises(
        ParseError, match=r"line 3: expected mdtest 3 or 4, the versions that are known; found .mdtest-1\.9"
    ):
        mdtest.parse(mdtest_3("1.9.3", '"', ":"))


def test_hpcg_of_nvidia(recorded):
    """By ``ReportResults.cpp`` of nvidia-hpcg, which says nothing of the height of a process's grid."""
    text = recorded(HPCG)
    shorter = "".join(
        line
        for line in text.splitlines(keepends=True)
        if not line.startswith(
            ("Local Domain Dimensions::Lower", "Local Domain Dimensions::Upper", "Local Domain Dimensions::nz")
        )
    )
    assert hpcg.parse(shorter) == hpcg.parse(text)
    with pytest.raises(ParseError, match="line 22: expected 286720, one for each cell"):
        hpcg.parse(shorter.replace("Global nz=", "Global nz=1"))


@pytest.mark.parametrize("version", ["3.2", "2.4"])
def test_a_version_of_hpcg_that_is_not_known(recorded, version):
    text = recorded(HPCG).replace("version=3.1", f"version={version}")
    with pytest.raises(
        ParseError, match=r"line 2: expected version 3\.1, or 3\.0 as YAML: no other version's report is known"
    ):
        hpcg.parse(text)
    with pytest.raises(ParseError, match=r"line 1: expected version 3\.1, or 3\.0 as YAML"):
        hpcg.parse(recorded("hpcg/published_3_0.yaml").replace("3.0", version, 1))


@pytest.mark.parametrize(
    "row",
    [
        # HPL_pdtest.c of HPL 2.1, and what Intel's, AMD's and NVIDIA's builds print in its place.
        "WR11C2R4      100000   192     1     2             417.30              1.598e+03",
        "WC00C2R2      100000   192     1     2             417.30            1.59762e+03",
        "WC00C2R100000      100000   192     1     2             417.30            1.59762e+03",
        "WR03L2L2      100000   192     1     2             417.30              1.598e+03",
        "WC0           100000   192     1     2       417.30       1.598e+03 ( 7.990e+02)",
        "WC22R2R4      100000   192     1     2             417.30             1.5976e+03",
    ],
)
def test_result_lines_of_hpl(recorded, row):
    text = recorded("field_cases/05-hpl-amd-2023.txt")
    (before,) = (line for line in text.splitlines() if line.startswith("WR"))
    (result,) = hpl.parse(text.replace(before, row))
    assert (result.n, result.nb, result.p, result.q) == (100000, 192, 1, 2)
    assert result.gflops == pytest.approx(1598, rel=1e-3)


def test_hpl_1_is_not_known(recorded):
    text = recorded("field_cases/05-hpl-amd-2023.txt")
    old = text.replace(
        "||Ax-b||_oo/(", "||Ax-b||_oo / ( eps * ||A||_1  * N        ) =        0.0338488 ...... PASSED\n||Ax-b||_oo/("
    )
    with pytest.raises(ParseError, match=r"line 11: .* HPL 1\.0 is not known"):
        hpl.parse(old)


NCCL = """# nThread 1 nGpus 2 minBytes 1048576 maxBytes 2097152 step: 2(factor) iters: 20 validation: 1\x20
#
{version}# Using devices
#   Rank  0 Pid   4711 on node1 device  0 [0x07] A100-SXM4-40GB
#   Rank  1 Pid   4711 on node1 device  1 [0x0f] A100-SXM4-40GB
#
#                                                     out-of-place                       in-place\x20
#       size         count    type{names}    time   algbw   busbw  {checked}    time   algbw   busbw  {checked}
#        (B)    (elements)                   (us)  (GB/s)  (GB/s)               (us)  (GB/s)  (GB/s)
     1048576        262144   float{values}   100.0   10.49   10.49  {wrong}   100.0   10.49   10.49  {wrong}
     2097152        524288   float{values}   100.0   20.97   20.97  {wrong}   100.0   20.97   20.97  {wrong}
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 15.73\x20
#
"""


@pytest.mark.parametrize(
    ("names", "values"),
    [("   redop", "     sum"), ("    root", "       0"), ("", ""), ("   redop    root", "     sum      -1")],
)
@pytest.mark.parametrize(
    ("version", "checked", "wrong"),
    [("", "error", "2e-07"), ("", "#wrong", "0"), ("rccl-tests: Version develop:448c4c7\n", "#wrong", "0")],
)
def test_nccl_tests_before_2_13_and_rccl_tests(names, values, version, checked, wrong):
    """By ``common.cu`` and the collectives of nccl-tests before 2.13, and of rccl-tests."""
    text = NCCL.format(names=names, values=values, version=version, checked=checked, wrong=wrong)
    result = gpu.nccl_tests(text, expect_sizes=[1 << 20, 1 << 21], expect_ranks=2)
    assert [row.in_place.bus_gb_s for row in result.rows] == [10.49, 20.97]
    bad = NCCL.format(
        names=names, values=values, version=version, checked=checked, wrong="2e+01" if "e" in wrong else "2"
    )
    with pytest.raises(ParseError, match="no wrong elements"):
        gpu.nccl_tests(bad, expect_sizes=[1 << 20, 1 << 21], expect_ranks=2)


def test_a_title_of_osu_without_its_sign():
    """As users publish it, whose shell or page took the signs for comments."""
    tables = osu.parse(2 * "OSU MPI Latency Test v5.0\nSize       Latency (us)\n8      1.21\n", expect_tables=2)
    assert [table.rows for table in tables] == 2 * [{8: (1.21,)}]


def test_bandwidths_above_a_thousand():
    """Format six characters, by ``getFloatStr`` of ``util.cu`` of nccl-tests 2.17 and later."""
    text = NCCL.format(names="", values="", version="", checked="#wrong", wrong="0")
    text = text.replace("100.0   20.97   20.97", "  1.0  2097.2  2097.2").replace("15.73", "1053.83")
    rows = gpu.nccl_tests(text, expect_sizes=[1 << 20, 1 << 21], expect_ranks=2).rows
    assert rows[1].in_place == gpu.NcclTransfer(1.0, 2097.2, 2097.2)


@pytest.mark.parametrize(
    ("size", "time", "algorithm", "bus", "message"),
    [
        (8, " 47.4", "0.00", "0.00", ""),
        (0, "  4.2", "0.00", "0.00", ""),
        (1024, "100.0", "0.01", "0.00", ""),
        (8, " 47.4", "0.01", "0.00", "algorithm bandwidth of 8 bytes"),
        (1 << 20, "100.0", "0.00", "0.00", "algorithm bandwidth of 1048576 bytes"),
        (1 << 20, "100.0", "10.49", "0.00", "a bus bandwidth above 0"),
    ],
)
def test_a_bandwidth_of_few_bytes(size, time, algorithm, bus, message):
    """``-b 8`` in published outputs; less than two decimals show. A minimum to reach adds OK to the mean."""
    text = NCCL.format(names="", values="", version="", checked="#wrong", wrong="0")
    text = text.replace("     1048576 ", f"{size:12} ")
    text = text.replace("100.0   10.49   10.49", f"{time}   {algorithm}   {bus}")
    text = text.replace("15.73 ", f"{(float(bus) + 20.97) / 2:g} OK")
    if message:
        with pytest.raises(ParseError, match=message):
            gpu.nccl_tests(text, expect_sizes=[size, 1 << 21], expect_ranks=2)
    else:
        assert gpu.nccl_tests(text, expect_sizes=[size, 1 << 21], expect_ranks=2).rows[0].in_place.bus_gb_s == 0
