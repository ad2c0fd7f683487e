"""BT-IO over nodes, and beside IOR: the requested runs, and the reading of their output."""

import re
from types import SimpleNamespace

import pytest
from reframe.core.exceptions import ReframeError, SanityError

from reframe_checks.application.scaled_application import Layout
from reframe_checks.storage.btio import CLASSES, BtIoSeries, BtIoShare
from tests.stand_in import StandIn


def laid_out(nodes, asked=()):
    partition = SimpleNamespace(fullname="site:cpu")
    check = StandIn(
        BtIoSeries, nodes_of_series=nodes, nodes=list(asked), current_partition=partition, check_class="BtIoSeries",
        problem_class="W", most_gib=0, subtype="full", rounds=3,
    )  # fmt: skip
    check.lay_out_series()
    return [(layout.nodes, layout.per_node) for layout in check.laid_out]


def test_one_rank_on_each_of_a_square_number_of_nodes():
    assert laid_out(32) == [(1, 1), (4, 1), (9, 1), (16, 1), (25, 1)]
    assert laid_out(3) == [(1, 1)]
    assert laid_out(32, [25, 9]) == [(9, 1), (25, 1)]
    with pytest.raises(ReframeError, match=r"site:cpu: BtIoSeries.nodes: expected some of \[1, 4\], found \[8, 9\]"):
        laid_out(8, [4, 8, 9])


def read_series(recorded, outputs):
    """The check after it has read these outputs, by file name, of class W."""
    check = StandIn(
        BtIoSeries, laid_out=[Layout(1, 1), Layout(4, 1)], rounds=3, problem_class="W", subtype="full",
        steps=CLASSES["W"].steps, output_text=outputs.__getitem__,
    )  # fmt: skip
    check.read_results().evaluate()
    return check


def of_one_rank(text):
    """The recorded run of four ranks as one of one rank, in the same time."""
    text, found = re.subn(r"((?:number of processes:|Total processes =|Active procs    =) +)4\b", r"\g<1>1", text)
    assert found == 3
    speed = re.search(r"Mop/s total     = +(\S+)", text)[1]
    return re.sub(r"(Mop/s/process   = +)\S+", rf"\g<1>{speed}", text)


def test_the_series_is_drawn_over_nodes_and_gated_on_the_most(recorded):
    four = recorded("btio/full_four_ranks.txt")
    one = of_one_rank(four)
    outputs = {f"{nodes}-nodes-{number}.txt": text for nodes, text in ((1, one), (4, four)) for number in (1, 2, 3)}
    check = read_series(recorded, outputs)
    assert [point["ranks"] for point in check.scaling] == [1, 4]
    assert check.scaling[1]["speedup"] == pytest.approx(1)
    assert check.scaling[1]["efficiency"] == pytest.approx(0.25)
    assert check.curves["I/O time"] == {1: check.result.io_s, 4: check.result.io_s}
    assert check.gated == {
        "time": {4: "total_time"}, "I/O time": {4: "io_time"}, "I/O share": {4: "io_share"}, "computing": {4: "mop_s"},
        "I/O": {4: "io_rate"}, "speed-up": {4: "speedup"},
    }  # fmt: skip
    with pytest.raises(SanityError, match=r"\('W', 4, 'FULL MPI-IO'\), expected \('W', 1, 'FULL MPI-IO'\)"):
        read_series(recorded, {**outputs, "1-nodes-2.txt": four})


def share(summary):
    """The rate that class W on two ranks takes from this summary of IOR."""
    return StandIn(BtIoShare, problem_class="W", num_tasks=2, output_text=lambda name: summary).ior_rate_of(0)


def test_ior_moves_at_each_output_what_a_rank_of_bt_does():
    transfer, outputs = StandIn(BtIoShare, problem_class="W", num_tasks=4).sizes()
    assert (transfer, outputs) == (24**3 * 5 * 8 // 4, 40)
    assert 4 * transfer * outputs == CLASSES["W"].written_bytes
    transfer, outputs = StandIn(BtIoShare, problem_class="B", num_tasks=49).sizes()
    assert transfer % 8 == 0
    assert 0 <= CLASSES["B"].written_bytes - 49 * transfer * outputs < 49 * 8 * outputs


def test_ior_that_ran_otherwise_is_refused(recorded):
    assert share(recorded("ior/mpiio_write_only.json")) > 0
    with pytest.raises(SanityError, match=r"ran .*'POSIX', 2, .*, expected \('MPIIO', 2, 276480, 276480, 40, False"):
        share(recorded("ior/posix_file_per_process.json"))
