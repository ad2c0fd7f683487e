import pytest

from reframe_checks.parsers import file_benchmarks
from reframe_checks.parsers.text import ParseError


def test_phases_one_after_the_other(recorded):
    jobs = {job.name: job for job in file_benchmarks.fio(recorded("fio/four_phases.json"))}
    assert list(jobs) == ["sequential_write", "sequential_read", "random_write", "random_read"]
    assert all(job.direct for job in jobs.values())
    assert [job.block_size_bytes for job in jobs.values()] == [1 << 20, 1 << 20, 4096, 4096]
    assert jobs["random_read"].write is None


def test_a_group_that_reads_and_writes(recorded):
    (job,) = file_benchmarks.fio(recorded("fio/mixed.json"))
    assert (job.rw, job.direct) == ("randrw", False)
    assert job.read.io_bytes + job.write.io_bytes == 2 * 8 << 20


def test_a_warning_before_the_json(recorded):
    text = recorded("fio/note.json")
    assert text.startswith("note: ")
    assert file_benchmarks.fio(text)[0].rw == "randread"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_space.txt", "line 1: expected a run without errors; found 'fio: pid=.*No space left on device'"),
        ("no_file.txt", r"jobs\[0\]\.error: 0, found 2"),
    ],
)
def test_errors_that_fio_reports(recorded, name, message):
    with pytest.raises(ParseError, match=message):
        file_benchmarks.fio(recorded(f"fio/{name}"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"bw_bytes" : 1813753081', '"bw_bytes" : 181375308', r"jobs\[0\]\.write: bw_bytes: 1000 x io_bytes / runtime"),
        ('"iops" : 1729.729730', '"iops" : NaN', "a finite number, found NaN"),
        ('"iops" : 1729.729730', '"iops" : 172.972973', r"write: iops: 1000 x total_ios / runtime"),
        ('"io_bytes" : 67108864', '"io_bytes" : 0', r"write: io_bytes: above 0, as there were operations"),
        ('"rw" : "write"', '"rw" : "randrw"', r"read\.io_bytes: bytes moved by rw=randrw"),
        ('"io_bytes" : 67108864', '"io_bytes" : -1', r"write\.io_bytes: integer >= 0"),
        ('"50.000000" : 399360', '"50.000000" : 39936000', "latencies that rise"),
        ('"99.000000" : 3850240', '"99.100000" : 3850240', r"the percentile 99.000000"),
        ('"rw" : "write"', '"rw" : "read"', r"read\.io_bytes: bytes moved by rw=read"),
        ('"bs" : "1M"', '"bs" : "4k,1M"', "one block size such as 4k or 1M"),
        ('"bs" : "1M"', '"bs" : "1Mi"', "one block size"),
        ('"direct" : "1"', '"direct" : "2"', "direct: 0 or 1, found '2'"),
        ('        "direct" : "1",\n', "", "direct, given on fio's command line"),
        ('"fio version" : "fio-3.33"', '"fio version" : "fio-2.0"', "fio version"),
    ],
)
def test_damage_is_named(recorded, old, new, message):
    text = recorded("fio/write.json")
    assert text.count(old) == 1
    with pytest.raises(ParseError, match=message):
        file_benchmarks.fio(text.replace(old, new))


def test_text_around_the_json(recorded):
    text = recorded("fio/write.json")
    for behind in (text, "done\n", "\nwrite: (groupid=0, jobs=1): err= 0: pid=7: Tue Apr  9 19:17:36 2019\n"):
        with pytest.raises(ParseError, match="use `--output-format=json` alone"):
            file_benchmarks.fio(text + behind)
    with pytest.raises(ParseError, match="line 1: expected a run without errors"):
        file_benchmarks.fio("fio: terminating on signal 15\n" + text)
    with pytest.raises(ParseError, match="fio's JSON"):
        file_benchmarks.fio("seqwrite: (g=0): rw=write\n")


def test_output_cut_off_between_lines(recorded):
    lines = recorded("fio/write.json").splitlines(keepends=True)
    for count in range(len(lines)):
        with pytest.raises(ParseError):
            file_benchmarks.fio("".join(lines[:count]))
