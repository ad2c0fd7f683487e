"""IOzone direct and buffered: its options, and the mark of reads that memory may have answered."""

import pytest
from reframe.core.exceptions import SanityError

from reframe_checks.parsers import file_benchmarks
from reframe_checks.storage.iozone import Iozone, IozoneBuffered
from tests.stand_in import StandIn
from tests.unit.parsers.cases import IOZONE_CELLS


def read(text, of_class):
    maps = [([size >> 10 for size, _ in IOZONE_CELLS if _ == 64], [64, 256, 1024])]
    check = StandIn(
        of_class, sync="plain", request_sizes_kib=[64, 256, 1024], maps=lambda: maps, output_text=lambda name: text
    )
    assert check.read_map().evaluate()
    return check


def buffered(text):
    """The recorded run as IOzone tells of one without direct I/O."""
    found = text.replace("\tO_DIRECT feature enabled\n", "").replace(" -I ", " ")
    assert len(found) < len(text) - 20
    return found


def test_reads_of_memory_have_names_of_their_own_and_one_plot_has_both(recorded):
    text = recorded("iozone/direct.txt")
    direct, through_memory = read(text, Iozone), read(buffered(text), IozoneBuffered)
    assert [*direct.heat_maps] == list(file_benchmarks.IOZONE_OPERATIONS)
    assert [*through_memory.heat_maps] == ["write", "rewrite", "read_memory", "reread_memory"]
    assert [*through_memory.curves] == [*through_memory.heat_maps]
    assert direct.curves["read"] == through_memory.curves["read_memory"]
    assert sorted(direct.curves["read"]) == [4 << 20, 8 << 20, 16 << 20]


def test_another_kind_of_io_than_asked_for_is_refused(recorded):
    text = recorded("iozone/direct.txt")
    for some, of_class in ((text, IozoneBuffered), (buffered(text), Iozone)):
        with pytest.raises(SanityError, match=f"IOzone's direct I/O is .*, expected {of_class.direct}"):
            read(some, of_class)


def test_the_option_is_given_where_asked_for():
    direct, through_memory = (
        StandIn(of_class, sync="o_sync").options([64], [4]) for of_class in (Iozone, IozoneBuffered)
    )
    assert [word for word in direct if word not in through_memory] == ["-I"]
    assert {"-o", "-e", "-c"} <= {*through_memory}
