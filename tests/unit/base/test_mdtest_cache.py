"""mdtest on several nodes has to have run so that no rank asks for what its own node holds in memory."""

from types import SimpleNamespace

import pytest
from reframe.core.exceptions import SanityError
from reframe.utility import sanity as sn

from reframe_checks.storage.mdtest import Mdtest


def judged(text, nodes):
    """What the check says of two ranks' output."""
    check = SimpleNamespace(
        num_tasks=2, num_tasks_per_node=2 // nodes, num_nodes_used=nodes, items=200, iterations=3,
        require_striping=lambda: None, output_text=lambda: text, parsed=lambda parse, output: parse(output),
    )  # fmt: skip
    check.not_from_memory = lambda: Mdtest.not_from_memory(check)
    return sn.evaluate(Mdtest.read_rates(check))


def test_the_option_against_memory_is_demanded_of_several_nodes(recorded):
    without = recorded("mdtest/unique_folders.txt")
    assert judged(without, nodes=1)
    assert judged(without.replace(" '-u' ", " '-N' '1' '-u' "), nodes=2)
    for text in (without, without.replace(" '-u' ", " '-N' '2' '-u' ")):
        with pytest.raises(SanityError, match="mdtest ran without -N 1: memory may have answered"):
            judged(text, nodes=2)
