"""Outputs of other sites' machines, unknown to the parsers' authors: the right reading, or the reason of refusal."""

from functools import partial

import pytest

from reframe_checks.parsers import file_benchmarks, gpu, hpcg, hpl, ior, lustre, mdtest, osu
from reframe_checks.parsers.text import Output, ParseError

NCCL_SIZES = [1 << power for power in range(20, 31)]


def field(recorded, name):
    return recorded(f"field_cases/{name}.txt")


def test_osu_5_7_1_with_lines_of_intel_mpi(recorded):
    text = field(recorded, "01-osu-5.7.1-intel-mpi-debug")
    (table,) = osu.parse(text, expect_sizes=[4, 8])
    assert table.title == "OSU MPI Multiple Bandwidth / Message Rate Test v5.7.1"
    assert table.rows == {4: (126.43, 31608531.76), 8: (252.65, 31580641.88)}
    assert [line.speaker.name for line in Output.read("", text).foreign] == 14 * ["Intel MPI"]


def test_a_heading_of_osu_without_its_sign(recorded):
    text = field(recorded, "03-osu-5.7.1-ibarrier")
    (table,) = osu.parse(text, expect_tables=1)
    assert dict(zip((column.name for column in table.columns), table.rows[0], strict=True)) == {
        "Overall": 89.72, "Compute": 68.02, "Coll. Init": 5.67, "MPI_Test": 0.0, "MPI_Wait": 15.91,
        "Pure Comm.": 63.15, "Min Comm.": 63.12, "Max Comm.": 63.21, "Overlap": 65.64,
    }  # fmt: skip
    with pytest.raises(ParseError, match=r"line 5: expected a known column heading, found 'Compote\(us\)"):
        osu.parse(text.replace("Compute(us)", "Compote(us)"))
    with pytest.raises(ParseError, match="a title `# … Test` of its own"):
        osu.parse(text + "\n" + text.partition("\n\n")[2])


def test_hpl_of_amd(recorded):
    (result,) = hpl.parse(field(recorded, "05-hpl-amd-2023"))
    assert (result.n, result.nb, result.p, result.q) == (384000, 384, 1, 2)
    assert (result.gflops, result.passed) == (8126.1, True)


def test_hpcg_of_intel(recorded):
    result = hpcg.parse(field(recorded, "09-hpcg-V3.1-intel-oneapi-2023"))
    assert (result.version, result.ranks, result.local_grid) == ("3.1", 96, (104, 104, 104))
    assert (result.gflops, result.total_s, all(result.passed.values())) == (53.8206, 74.2943, True)


def test_non_blocking_collective_whose_mean_is_below_its_minimum(recorded):
    (table,) = osu.parse(field(recorded, "30-osu-5.7.1-ialltoallv-order"), expect_sizes=[4, 8])
    figures = dict(zip((column.name for column in table.columns), table.rows[8], strict=True))
    assert (figures["Overall"], figures["Pure Comm."], figures["Min Comm."]) == (139.45, 102.88, 105.68)


def test_osu_behind_a_line_of_intel_mpi(recorded):
    (table,) = osu.parse(field(recorded, "36-osu-intel-mpi-release-mt"))
    assert table.rows[8] == (1.14,)


def test_bandwidths_of_several_window_sizes_are_refused():
    text = "# OSU MPI Multiple Bandwidth / Message Rate Test v7.4\n# [ pairs: 2 ] [ window size: varied ]\n"
    with pytest.raises(ParseError, match=r"line 2: expected one window size \(`-W`\): `-V` prints a table of several"):
        osu.parse(text)


@pytest.mark.parametrize(
    "options", ["-O testFile=benchmark", "-O checkRead=0,testFile=benchmark", "-o other -O TESTFILE=benchmark"]
)
def test_ior_whose_directives_name_the_file(recorded, options):
    text = field(recorded, "29-ior-testfile-option").replace("-O testFile=benchmark", options)
    result = ior.parse(text)
    assert (result.tasks, result.repetitions, result.fsync) == (16, 5, True)
    assert max(result.write_mb_s) == pytest.approx(5213.38 * 1.048576, rel=1e-3)
    assert max(result.read_mb_s) == pytest.approx(6026.83 * 1.048576, rel=1e-3)


def test_directives_of_ior_count_like_options(recorded):
    text = field(recorded, "29-ior-testfile-option")
    result = ior.parse(text.replace("-e -i 5", "-e -i 5 -O fsync=0,checkWrite=1"))
    assert (result.fsync, result.check_write, result.check_read) == (False, True, False)
    with pytest.raises(ParseError, match="the file benchmark, as among the options"):
        ior.parse(text.replace("-O testFile=benchmark", "-O testFile=benchmark -o /other"))


def test_fio_3_1(recorded):
    (job,) = file_benchmarks.fio(field(recorded, "31-fio-3.1-duplicate-percentiles.json"))
    assert job.read is None
    assert (job.write.io_bytes, job.write.clat_p99_us) == (2**30, 6.176)
    assert job.write.bandwidth_mb_s == pytest.approx(2**30 / 0.598 / 1e6)
    with pytest.raises(ParseError, match=r"key '99\.000000' once only"):
        file_benchmarks.fio(field(recorded, "31-fio-3.1-duplicate-percentiles.json").replace("99.500000", "99.000000"))


def test_mdtest_4_1_with_one_phase(recorded):
    text = field(recorded, "10-mdtest-4.1.0+dev")
    result = mdtest.parse(text)
    assert (result.version, result.tasks, result.nodes, result.items) == ("4.1.0+dev", 640, 80, 640_000_000)
    assert {name: rate.mean for name, rate in result.rates.items()} == {
        "File creation": 119113.150, "Tree creation": 4.279,
    }  # fmt: skip
    assert (result.reached, result.made) == ((69315,), 640 * 69315)
    # A phase that was asked for has a rate.
    with pytest.raises(ParseError, match="File stat above 0"):
        mdtest.parse(text.replace("'-C'", "'-CT'"))


@pytest.mark.parametrize(
    ("name", "parse", "message"),
    [
        (
            "13-nccl-tests-c0", partial(gpu.nccl_tests, expect_sizes=NCCL_SIZES, expect_ranks=2),
            r"line 1: expected checked data \(`-c 1`\), and `validation: 0` says that they are unchecked",
        ),
        (
            "25-fio-3.16-lat_percentiles.json", file_benchmarks.fio,
            r"read: clat_ns: percentiles \(`clat_percentiles=1`, which `lat_percentiles=1` turns off\)",
        ),
        (
            "38-nccl-tests-srun-l", partial(gpu.nccl_tests, expect_sizes=NCCL_SIZES, expect_ranks=2),
            r"line 1: expected lines without the label of `srun --label`: run without this option",
        ),
    ],
)  # fmt: skip
def test_what_is_not_read_is_refused_for_its_reason(recorded, name, parse, message):
    with pytest.raises(ParseError, match=message):
        parse(field(recorded, name))


def test_times_of_the_cpu_are_refused(recorded):
    text = field(recorded, "13-nccl-tests-c0").replace("validation: 0", "validation: 1").replace(" time ", " cputime ")
    with pytest.raises(ParseError, match=r"the time of operations \(`-C 0`\)"):
        gpu.nccl_tests(text, expect_sizes=NCCL_SIZES, expect_ranks=2)


def test_unchecked_rows_are_refused_where_the_options_are_not_printed(recorded):
    rows = field(recorded, "13-nccl-tests-c0").partition("\n")[2]
    with pytest.raises(ParseError, match="N/A says that they are unchecked"):
        gpu.nccl_tests(rows, expect_sizes=NCCL_SIZES, expect_ranks=2)


def test_an_underlined_heading_of_nvidia_smi(recorded):
    found = gpu.topology(field(recorded, "14-nvidia-smi-topo-underlined"), expect_gpus=2)
    assert found.relations == (("X", "SYS"), ("SYS", "X"))
    old = field(recorded, "14-nvidia-smi-topo-underlined").replace("SYS", "SOC")
    assert gpu.topology(old, expect_gpus=2).relations == (("X", "SOC"), ("SOC", "X"))


def test_gpus_with_nvlink_between_them(recorded):
    text = field(recorded, "14-nvidia-smi-topo-underlined")
    text = text.replace("\tSYS\tPIX", "\tNV12\tPIX").replace("SYS\t X ", "NV12\t X ")
    found = gpu.topology(text, expect_gpus=2)
    assert (found.relations, found.groups) == ((("X", "NV12"), ("NV12", "X")), ((0,), (1,)))


def test_targets_that_are_not_active(recorded):
    found = lustre.targets(field(recorded, "20-lfs-osts-inactive"))
    assert [target.index for target in found if target.active] == [1, 2, 4, 5, 6]
    assert len(found) == 6
    text = field(recorded, "20-lfs-osts-inactive")
    dashed = lustre.targets(text.replace(f" {found[0].name.partition('-')[0]}-", " my-fs-1-"))
    assert [target.name[:12] for target in dashed] == 6 * ["my-fs-1-OST0"]
