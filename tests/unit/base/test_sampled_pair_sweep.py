"""Results of PairSweep for a sample with missing figures."""

import json
import zlib

import numpy as np
import pytest
from reframe.core.exceptions import SanityError

from reframe_checks.network.pair_sweep import PairSweep
from reframe_checks.parsers.pair_sweep import PAIR
from tests.stand_in import StandIn
from tests.unit.conftest import DATA

NODES = [f"node{number}" for number in range(1, 5)]


@pytest.fixture
def read(recorded, tmp_path):
    """``read(change)``: the check's result for the recorded sample with pairs that ``change`` has modified."""

    def read(change):
        pairs = np.frombuffer((DATA / "pair_samples/four_nodes_limited.bin").read_bytes(), dtype=PAIR).copy()
        change(pairs)
        document = json.loads(recorded("pair_samples/four_nodes_limited.json"))
        text = json.dumps(document | {"figures_crc32": zlib.crc32(pairs.tobytes())}) + "\n"
        check = StandIn(
            PairSweep, matrices={}, hint="", least_slowdown=2.0, least_loss=0.005,
            switch_of=dict.fromkeys(NODES[:2], "switch1") | dict.fromkeys(NODES[2:], "switch2"), count_packets=True,
            perf_variables={"bandwidth_across_switches": None, "leaf_uniformity": None}, matrix_folder=tmp_path,
            provenance={"nodelist": NODES}, output_text=lambda name: text, output_bytes=lambda name: pairs.tobytes(),
        )  # fmt: skip
        for name in ("record_per_node", "require_all_nodes"):
            setattr(check, name, getattr(PairSweep, name).__get__(check))
        return check.read_sample()

    return read


def test_a_whole_sample_is_sound(read):
    assert read(lambda pairs: None)


def test_a_pair_without_a_figure_is_no_pass(read):
    with pytest.raises(SanityError, match=r"no figure for the pairs node1-node2$"):
        read(lambda pairs: pairs["to_first_mbps"].__setitem__(0, np.nan))


def test_a_node_without_figures_is_no_pass(read):
    def silence(pairs):
        of_node4 = (pairs["first"] == 3) | (pairs["second"] == 3)
        for name in ("latency_us", "to_second_mbps", "to_first_mbps"):
            pairs[name][of_node4] = np.nan

    with pytest.raises(SanityError, match=r"no figure for the pairs .*node4"):
        read(silence)
