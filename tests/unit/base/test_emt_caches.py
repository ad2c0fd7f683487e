"""Results of the cache check of the EMT application for nodes with known caches."""

import pytest
from msgspec.structs import replace
from reframe.core.exceptions import SanityError

from reframe_checks.application.emt_caches import EmtCaches
from reframe_checks.parsers.emt import DataCache, NetworkTimes, NodeCaches
from tests.figures import figure
from tests.stand_in import StandIn
from tests.unit.localise.test_cache_knee import MIB, curve


def node(name, cache_mib, **changes):
    sizes = tuple(
        NetworkTimes("network", f"hash{size}", "bits", 1, 100, size, 100 * us * 1.1, 0.0, 100 * us, 5.0, True)
        for size, us in curve(cache_mib, **changes).items()
    )
    return NodeCaches(name, 0, (DataCache(1, MIB), DataCache(2, 32 * MIB)), sizes)


@pytest.fixture
def check():
    """Eight nodes with caches of 32 MiB; one of them has only 8 for itself."""
    nodes = {f"n{number}": node(f"n{number}", 8 if number == 5 else 32) for number in range(8)}
    made = StandIn(
        EmtCaches, nodes=nodes, least_slowdown=1.15, output_text=lambda name: "",
        perf_variables={"knee": None, "knee_over_cache": None}, networks=lambda: dict.fromkeys(range(9)),
    )  # fmt: skip
    made.parsed = lambda parse, text, **more: made.nodes
    return made


def test_the_node_with_the_smaller_cache_is_named_once(check):
    assert check.read_curves().evaluate()
    assert [finding.name for finding in check.findings] == ["n5"]
    # Where it holds no longer what the others do.
    assert check.findings[0].quantity == "work of 33.6 MB"
    assert check.per_node["knee"]["n5"] < 0.4 * check.per_node["knee"]["n1"]
    assert figure(EmtCaches, "knee_over_cache", check) == pytest.approx(check.per_node["knee"]["n5"] / (32 * MIB))


def test_equal_nodes_are_not_blamed(check):
    check.nodes["n5"] = node("n5", 32, noise=[0.02, -0.01] * 4 + [0.01])
    check.read_curves().evaluate()
    assert check.findings == []
    assert figure(EmtCaches, "kappa_of_one_rank", check) == pytest.approx(0.5)


def test_without_a_knee_there_is_none_to_record(check):
    check.nodes = {name: node(name, 32, slowdown=1.1) for name in check.nodes}
    check.read_curves().evaluate()
    assert check.perf_variables == {}
    assert check.per_node["knee"] == {}


def test_another_solution_blames_the_odd_node(check):
    first, *others = check.nodes["n2"].sizes
    check.nodes["n2"] = NodeCaches("n2", 0, (), (replace(first, checksum="other"), *others))
    with pytest.raises(SanityError, match="n2: another solution"):
        check.read_curves().evaluate()
    assert check.suspects == ["n2"]
