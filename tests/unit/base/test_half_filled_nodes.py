"""Results of the checks of half-filled nodes: recorded ones, and ones of nodes with many cores."""

from types import SimpleNamespace

import pytest
from reframe.core.exceptions import SanityError

from reframe_checks.compute.node_sweep import NodeFills
from reframe_checks.network.osu import OsuNodeFill
from reframe_checks.parsers import osu
from reframe_checks.parsers.core_programs import CoreSpeeds
from tests.figures import figure
from tests.stand_in import StandIn


@pytest.fixture
def fills():
    """Four nodes of eight cores, whose memory half of them fill; the cores of one are slow when half of them rest."""

    def node(half):
        def speeds(active, triad):
            return CoreSpeeds((triad,) * active, (20.0,) * active, (1.0,) * active)

        spread = {1: speeds(1, 20e3), 2: speeds(2, 20e3), 4: speeds(4, half), 8: speeds(8, 10e3)}
        packed = {2: speeds(2, 20e3), 4: speeds(4, 10e3)}
        return SimpleNamespace(cores=range(8), available_mib=65536, spread=spread, packed=packed, wrong=())

    nodes = {name: node(12e3 if name == "n3" else 18e3) for name in ("n1", "n2", "n3", "n4")}
    return StandIn(
        NodeFills, cores_per_node=8, least_slowdown=1.1, output_text=lambda name: "", nodes=nodes,
        result="node_fills.json", parsed=lambda parse, text: nodes,
    )  # fmt: skip


def test_what_a_core_gains_when_others_rest(fills):
    assert fills.read_fills().evaluate()
    assert figure(NodeFills, "half_triad_gain", fills) == pytest.approx(1.8)
    assert figure(NodeFills, "quarter_triad_gain", fills) == pytest.approx(2)
    assert figure(NodeFills, "half_packed_share", fills) == pytest.approx(1 / 1.8)
    assert figure(NodeFills, "half_triad", fills) == 12e3
    assert figure(NodeFills, "half_memory", fills) == 16384
    assert fills.curves["triad, packed"] == {2: 20e3, 4: 10e3}
    assert [finding.name for finding in fills.findings] == ["n3"]


def test_cores_that_are_missing_or_wrong_fail(fills):
    fills.cores_per_node = 16
    with pytest.raises(SanityError, match="16 cores on n1, n2, n3, n4"):
        fills.read_fills().evaluate()


@pytest.fixture
def pairs(recorded):
    """Recorded output of one pair, said to be of two and of four, too: the adapter is the limit."""
    text = recorded("osu/osu_mbw_mr.txt")
    outputs = {count: text.replace("[ pairs: 1 ]", f"[ pairs: {count} ]") for count in (1, 2, 4)}
    made = StandIn(
        OsuNodeFill, repeats=1, num_tasks_per_node=4, fewer=[1, 2],
        output_text=lambda name=None: outputs[int(name.split("-")[1]) if name else 4],
        expected_sizes=lambda: [1 << exponent for exponent in range(23)],
        validation_demanded=lambda: False, outputs=outputs,
    )  # fmt: skip
    made.tables = made.parsed(osu.parse, outputs[4], expect_sizes=made.expected_sizes(), expect_tables=1)
    return made


def test_where_the_adapter_is_the_limit_half_of_the_pairs_have_twice_as_much(pairs):
    pairs.check_tables(pairs.tables)
    assert figure(OsuNodeFill, "half_bandwidth_gain", pairs) == pytest.approx(2)
    assert figure(OsuNodeFill, "half_message_rate_gain", pairs) == pytest.approx(2)
    assert figure(OsuNodeFill, "one_pair_bandwidth", pairs) == pairs.tables[0].rows[1 << 20][0]
    assert sorted(pairs.curves["message rate of a pair over pairs"]) == [1, 2, 4]


def test_other_pairs_than_asked_for_are_refused(pairs):
    pairs.outputs[2] = pairs.outputs[1]
    with pytest.raises(SanityError, match="expected 1 runs of 2 pairs"):
        pairs.check_tables(pairs.tables)
