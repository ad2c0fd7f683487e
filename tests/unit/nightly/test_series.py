"""By nodes where one set of nodes was measured often enough, else across nodes."""

from reports.history.query import History
from reports.nightly.series import nightly_series
from tests.unit.history.nights import history_of, on


def chosen(folder, nights):
    history = History(history_of(folder, nights))
    return sorted((one.partition, one.nodes, len(one.values)) for one in nightly_series(history, 500))


def test_a_set_of_nodes_that_was_measured_often_is_a_series(tmp_path):
    assert chosen(tmp_path, [[on(["node1"])]] * 8 + [[on(["node2"])]] * 4) == [("cpu", "node1", 8), ("cpu", "node2", 4)]


def test_sets_of_nodes_that_were_each_measured_too_rarely_are_one(tmp_path):
    nights = [[on([f"node{number % 3}"]), on(["node9"], "gpu")] for number in range(12)]
    assert chosen(tmp_path, nights) == [("cpu", "", 12), ("gpu", "node9", 12)]


def test_one_set_of_nodes_keeps_its_name(tmp_path):
    assert chosen(tmp_path, [[on(["node1"])]] * 3) == [("cpu", "node1", 3)]
