"""Every action has its words, on one line."""

import itertools
from typing import get_args

import pytest

from kappa.core.record.actions import Outcome, What
from reports.quarantine.listing import told
from tests.unit.quarantine.samples import action, proof


@pytest.mark.parametrize(("what", "outcome"), [*itertools.product(get_args(What), get_args(Outcome))])
def test_every_action_can_be_told(what, outcome):
    line = told(action("node2", what=what, outcome=outcome, said="because\nof x", command=("drain", "a b")))
    assert line.startswith("node2: ") and "\n" not in line
    assert ("drain 'a b'" if outcome == "begun" else "because of x") in line


def test_a_drain_tells_its_evidence_and_how_long_it_lasts():
    line = told(action("node2", evidence=(proof(text="slow"), proof(check="Stream"), proof(check="Hpl"))))
    assert "drained until 20" in line and "NodeLinks %scale=each_node on cpu+system: slow; Stream " in line
    assert "Hpl" not in line
