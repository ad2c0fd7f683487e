import pytest

from reframe_checks.parsers import osu
from reframe_checks.parsers.osu import OsuColumn
from reframe_checks.parsers.text import ParseError

LATENCY = """# OSU MPI Latency Test v7.4
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)
1                       0.24
2                       0.15
"""
DEMO = """# MPI Latency Test
# Size [B]        Latency [us]
         0                0.37
         1                0.35
"""


def test_c_latency(recorded):
    (table,) = osu.parse(recorded("osu/osu_latency.txt"), expect_sizes=[2**i for i in range(23)], expect_tables=1)
    assert table.title == "OSU MPI Latency Test v7.4"
    assert table.datatype == "MPI_CHAR"
    assert table.columns == (OsuColumn("Avg Latency", "us"),)
    assert len(table.rows) == 23
    assert (table.rows[1], table.rows[1 << 20]) == ((0.24,), (254.44,))
    assert not table.validated


@pytest.mark.parametrize(
    ("name", "title", "columns", "rows"),
    [
        ("osu_allreduce", "OSU MPI Allreduce Latency Test v7.4", ["Avg Latency/us"], {131072: (437.22,)}),
        ("osu_bw", "OSU MPI Bandwidth Test v7.4", ["Bandwidth/MB/s"], {4194304: (3702.78,)}),
        ("osu_put_latency", "OSU MPI_Put Latency Test v7.4", ["Latency/us"], {65536: (35.66,)}),
        ("osu_barrier", "OSU MPI Barrier Latency Test v7.4", ["Avg Latency/us"], {0: (0.18,)}),
        (
            "osu_mbw_mr", "OSU MPI Multiple Bandwidth / Message Rate Test v7.4",
            ["Bandwidth/MB/s", "Message rate/1/s"], {8: (127.78, 15972447.53)},
        ),
        (
            "osu_ibcast_full", "OSU MPI Non-Blocking Broadcast Latency Test v7.4",
            [*(f"{name}/us" for name in (
                "Overall", "Compute", "Coll. Init", "MPI_Test", "MPI_Wait", "Pure Comm.", "Min Comm.", "Max Comm.",
            )), "Overlap/%"],
            {1: (0.80, 0.50, 0.10, 0.0, 0.09, 0.25, 0.15, 0.34, 0.0)},
        ),
        (
            "osu_ineighbor_alltoallw", "OSU MPI Non-blocking Neighborhood Alltoallw Latency Test v7.4",
            ["Overall/us", "Compute/us", "Pure Comm./us", "Overlap/%"], {16: (8.14, 3.45, 2.96, 0.0)},
        ),
        ("osu_hello", "OSU MPI Hello World Test v7.4", ["Processes/count"], {0: (2,)}),
        (
            "osu_init", "OSU MPI Init Test v7.4",
            ["Avg Init/ms", "Min Init/ms", "Max Init/ms", "Processes/count"], {0: (243, 243, 244, 2)},
        ),
        ("mpi4py_latency", "MPI Latency Test", ["Latency/us"], {0: (0.37,)}),
        ("mpi4py_bw", "MPI Bandwidth Test", ["Bandwidth/MB/s"], {1 << 20: (17029.09,)}),
        ("mpi4py_barrier", "MPI Barrier Latency Test", ["Latency/us"], {0: (3807.13,)}),
    ],
)  # fmt: skip
def test_shapes_of_tables(recorded, name, title, columns, rows):
    (table,) = osu.parse(recorded(f"osu/{name}.txt"))
    assert table.title == title
    assert [f"{column.name}/{column.unit}" for column in table.columns] == columns
    assert table.rows | rows == table.rows


def test_validated_columns_are_not_figures(recorded):
    (table,) = osu.parse(recorded("osu/osu_allreduce_full_validated.txt"))
    assert table.validated
    assert [column.name for column in table.columns] == ["Avg Latency", "Min Latency", "Max Latency", "Iterations"]
    assert table.rows[4096][3] == 20


def test_one_table_for_each_datatype(recorded):
    tables = osu.parse(recorded("osu/osu_allreduce_datatypes.txt"), expect_tables=3)
    assert [table.datatype for table in tables] == ["MPI_CHAR", "MPI_INT", "MPI_FLOAT"]


def test_tail_percentiles(recorded):
    (table,) = osu.parse(recorded("osu/osu_bw_tail.txt"))
    assert [column.name for column in table.columns] == ["Bandwidth", "P50 Tail", "P90 Tail", "P99 Tail"]


def test_curve_over_repeats(recorded):
    tables = osu.parse(recorded("osu/osu_latency_repeats.txt"), expect_tables=3, expect_sizes=[1, 2, 64])
    at_1_byte = sorted(table.rows[1][0] for table in tables)
    assert [osu.curve(tables, pick)[1] for pick in ("min", "median", "max")] == at_1_byte
    assert list(osu.curve(tables, "min")) == list(tables[0].rows)


def test_repeats_that_differ_have_no_curve():
    (first,) = osu.parse(LATENCY)
    (shorter,) = osu.parse(LATENCY.rsplit("2  ", 1)[0])
    (other,) = osu.parse(DEMO)
    for tables in ([first, shorter], [first, other], []):
        with pytest.raises(ParseError, match="OSU repeats"):
            osu.curve(tables, "min")


def test_comments_and_blank_lines_between_tables():
    assert len(osu.parse(f"\n# started\n{LATENCY}\n# again\n\n{LATENCY}# done\n")) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# started\n", "a table of figures"),
        ("# OSU MPI Latency Test v7.4\n", "a table of figures"),
        ("# OSU MPI Latency Test v7.4\n# Size       Avg Latency(us)\n", "line 3: expected a row of figures"),
        ("1                       0.24\n", "line 1: expected a title"),
        ("# Size       Avg Latency(us)\n1    0.24\n", "line 1: expected a title that says latency or bandwidth"),
        (LATENCY[:-1], "line 5: expected a line end"),
        (LATENCY[: LATENCY.index("0.15")] + "\n", r"line 5: expected 2 columns \(size, Avg Latency\), found 1"),
        (LATENCY.replace("0.15", "0.1"), "line 5: expected Avg Latency as a plain number, found '0.1'"),
        (LATENCY.replace("0.15", "nan"), "found 'nan'"),
        (LATENCY.replace("0.15", "inf"), "found 'inf'"),
        (LATENCY.replace("0.15", "-0.15"), "found '-0.15'"),
        (LATENCY.replace("0.15", "0.00"), r"Avg Latency \(us\) above 0 and at most 86400000000 us, found 0.00"),
        (LATENCY.replace("0.15", "1e999"), "found '1e999'"),
        (LATENCY.replace("0.15", "0.15 0.16"), "found 3"),
        (LATENCY.replace("\n2 ", "\n1 "), "line 5: expected a message size above 1"),
        (LATENCY.replace("\n2 ", "\n1k "), "a message size in bytes, found '1k'"),
        (LATENCY.replace("\n2 ", "\n٢ "), "a message size in bytes"),
        (LATENCY.replace("(us)", "(ms)"), "line 3: expected a known column heading, found 'Avg Latency.ms.'"),
        (LATENCY.replace("Avg Latency(us)", "Bandwidth (MB/s)"), "its columns; title 'OSU MPI Latency Test v7.4'"),
        (LATENCY.replace("Latency Test", "Bandwidth Test"), "its columns; title 'OSU MPI Bandwidth Test v7.4'"),
        (LATENCY.replace("Latency Test", "Latecy Tst"), "line 2: expected the title `# … Test` above the datatype"),
        (DEMO.replace("Latency Test", "andwidth Test"), "line 2: expected a title that says latency or bandwidth"),
        (LATENCY.replace("# Size       Avg", "# Sise"), "line 4: expected a title"),
        (LATENCY + LATENCY.partition("\n")[2], "line 7: expected a title `# … Test` of its own above each table"),
        (LATENCY + "real\t0m1.333s\n", "line 6: expected a message size in bytes, found 'real'"),
        (LATENCY + "\nreal\t0m1.333s\n", "line 7: expected a title"),
        (LATENCY + "\n4     0.16\n", "line 7: expected a title"),
        ("".join(f"{line}\n{line}\n" for line in DEMO.splitlines()), "a table under 'MPI Latency Test' before"),
        ("\x7fELF\x00\x01\n", "without control characters"),
    ],
)
def test_damage_is_named(text, message):
    with pytest.raises(ParseError, match=message):
        osu.parse(text)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("osu_allreduce_failed", "line 9: expected validation Pass, found 'Fail'"),
        ("osu_usage", "line 1: expected a title .* found 'Usage: osu_latency"),
    ],
)
def test_programs_that_refuse(recorded, name, message):
    with pytest.raises(ParseError, match=message):
        osu.parse(recorded(f"osu/{name}.txt"))


def test_missing_sizes_and_tables():
    with pytest.raises(ParseError, match=r"message sizes \[4, 8\] in table 1"):
        osu.parse(LATENCY, expect_sizes=[1, 2, 4, 8])
    with pytest.raises(ParseError, match="2 tables, found 1"):
        osu.parse(LATENCY, expect_tables=2)


def test_figures_of_a_row_agree(recorded):
    full = recorded("osu/osu_barrier_full.txt")
    low = full.split()[-3]
    with pytest.raises(ParseError, match="Min Latency <= Avg Latency <= Max Latency"):
        osu.parse(full.replace(low, "9" + low))
    with pytest.raises(ParseError, match="a message rate of bandwidth / message size"):
        osu.parse(recorded("osu/osu_mbw_mr.txt").replace("15972447.53", "1597244.53"))


def test_two_ranks_that_print_at_once(recorded):
    lines = recorded("osu/osu_allreduce.txt").splitlines(keepends=True)
    with pytest.raises(ParseError):
        osu.parse("".join(line for pair in zip(lines, lines, strict=True) for line in pair))
