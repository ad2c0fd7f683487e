"""Clauses about outages in a contract: accepted ones, and errors that name their line."""

import pytest

from kappa.core.ground.errors import InputError

GOOD = """\
contract:
  title: Test
  system: embedded
  date: 2026-11-21
  parties: {buyer: B, vendor: V}
  observation:
    nodes: node[1-4]
    least_nodes: 3
    exclusions: [power of the site]
clauses:
  - id: R1
    text: It breaks seldom.
    reliability: {of: system, promised_h: 300, least_h: 100, buyer_risk: 0.1, vendor_risk: 0.1}
    mandatory: true
  - id: A1
    text: It is there.
    availability:
      of: nodes
      least: 98
      period_h: 720
    mandatory: true
"""


def test_terms_and_clauses_are_read(load):
    contract = load(GOOD)
    assert contract.observation.node_names == ("node1", "node2", "node3", "node4")
    assert (contract.observation.merge_s, contract.observation.longer_than_s) == (3600, 300)
    reliability, availability = contract.clauses
    assert (reliability.block.counts, availability.block.counts) == ("vendor", "any")
    assert (reliability.threshold, reliability.unit, reliability.repeats) == (100, "h", 0)
    assert (availability.threshold, availability.unit) == (98, "%")
    assert availability.holds(98) and not availability.holds(97.99)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("nodes: node[1-4]", "nodes: node[1-99999999]", 6, "expected a list of 1 to 100,000 nodes"),
        ("nodes: node[1-4]", "nodes: node[1-4", 6, "expected a list of 1 to 100,000 nodes"),
        ("least_nodes: 3", "least_nodes: 5", 6, "expected least_nodes of at most the 4 nodes"),
        ("promised_h: 300", "promised_h: 100", 13, "expected promised_h of at least 1.05 x least_h"),
        ("vendor_risk: 0.1", "vendor_risk: 0.5", 13, "expected a risk above 0 and below 0.5, found 0.5"),
        ("300, least_h: 100, buyer_risk: 0.1", "105, least_h: 100, buyer_risk: 1.0e-300", 13, "no test of at most"),
        ("vendor_risk: 0.1", "vendor_risk: 10", 13, "expected a risk above 0 and below 0.5, found 10"),
        ("of: system", "of: racks", 13, "expected system or nodes, found 'racks'"),
        ("least: 98", "least: 101", 19, "expected per cent"),
        ("of: nodes", "over: nodes", 18, "unknown key 'over'"),
        ("true\n  - id: A1", "true\n    repeats: 3\n  - id: A1", 15, "unknown key 'repeats'"),
        ("    availability:\n", "    selector:\n", 15, "expected the key statistic"),
    ],
)  # fmt: skip
def test_invalid_clause_is_refused_with_its_line(load, old, new, line, message):
    assert old in GOOD
    with pytest.raises(InputError, match=r"acceptance\.yaml: line ") as error:
        load(GOOD.replace(old, new, 1))
    assert message in str(error.value)
    assert f"line {line}: " in str(error.value)


def test_clause_without_observation_is_refused(load):
    begin, end = GOOD.index("  observation:"), GOOD.index("clauses:")
    with pytest.raises(InputError, match=r"line 7: .*R1 is about outages: expected contract\.observation"):
        load(GOOD[:begin] + GOOD[end:])
