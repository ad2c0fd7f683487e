"""PartitionState without Slurm: nodes of the reservation that jobs name are in service."""

import pytest
from reframe.core.exceptions import SanityError
from reframe.utility.sanity import evaluate

from reframe_checks.node.partition_state import PartitionState
from reframe_checks.parsers.text import ParseError
from tests.stand_in import StandIn
from tests.unit.test_reservations import reservation

SINFO = "n1|maint|none\nn2|drained$|disk\nn3|maint|none\nn4|idle|none\n"


class State(StandIn):
    """The check with what sinfo and scontrol print."""

    def __init__(self, name, reservations):
        super().__init__(PartitionState, reservation=name, hint="", partition_nodes=4, census={"not_loaded": []})
        self.reservations = reservations

    def output_text(self, name=None):
        return self.reservations if name else SINFO

    def parsed(self, parse, text):
        try:
            return parse(text)
        except ParseError as err:
            raise SanityError(str(err)) from None


@pytest.mark.parametrize(
    ("name", "suspects", "usable"),
    [("", ["n1", "n2", "n3"], 1), ("maintenance", ["n2", "n3"], 2), ("other", ["n1", "n2"], 2)],
)
def test_nodes_in_service_for_jobs_of_a_reservation(name, suspects, usable):
    check = State(name, reservation(nodes="n[1-2]") + reservation("other", "n3"))
    assert evaluate(PartitionState.nodes_are_there(check))
    assert check.suspects == suspects
    assert check.usable() == usable == sum(check.per_node["usable"].values())


def test_a_reservation_that_is_not_there_fails_the_check():
    with pytest.raises(SanityError, match="no reservation 'gone'"):
        evaluate(PartitionState.nodes_are_there(State("gone", reservation())))
