"""The series that a night is held against: each by its nodes, or across nodes where none has values enough."""

from collections import defaultdict
from collections.abc import Sequence

from reports.history.judgement import MIN_VALUES
from reports.history.query import History, Series

# How often a night may report a quiet series, and all of them together at most: about one false alarm a month.
_FALSE_ALARMS, _FALSE_ALARMS_OF_ALL = 0.001, 0.1


def false_alarms_of(series: Sequence[Series]) -> float:
    """The rate at which each of ``series`` is judged: the more there are, the surer a finding has to be."""
    return min(_FALSE_ALARMS, _FALSE_ALARMS_OF_ALL / max(len(series), 1))


def nightly_series(history: History, newest: int) -> list[Series]:
    """Series by their sets of nodes; across nodes where Slurm chose others each time, and none often enough."""
    by_nodes: dict[tuple[str, ...], list[Series]] = defaultdict(list)
    for one in history.series(newest):
        by_nodes[one.key].append(one)
    thin = {
        key
        for key, members in by_nodes.items()
        if len(members) > 1 and all(len(one.values) < MIN_VALUES for one in members)
    }
    chosen = [one for key, members in by_nodes.items() if key not in thin for one in members]
    if thin:
        chosen += [one for one in history.series(newest, across_nodes=True) if one.key in thin]
    return chosen
