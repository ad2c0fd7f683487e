"""Tell which of Slurm's partitions a survey chose: a table with the reason for each."""

from collections.abc import Iterator, Sequence

from kappa.app.survey.kinds import PartitionChoice, is_usable
from kappa.app.survey.slurm import Caller, SlurmNode, SlurmPartition, max_time
from kappa.core.ground.clean_text import one_line
from kappa.core.ground.figures import aligned

_HEADING = ("PARTITION", "NODES", "MAX NODES", "TIME", "CHOSEN AS / WHY NOT")
# Longest cells of the first and last column, in characters: a line has about 100 in all.
_NAME, _WHY = 20, 54
_NO_LIMIT = "none"


def partition_table(
    partitions: Sequence[SlurmPartition], nodes: Sequence[SlurmNode], choice: PartitionChoice, caller: Caller
) -> Iterator[str]:
    """Yield aligned lines: for each partition the nodes that the caller can use of all, its limits, and the choice.

    :param nodes: the nodes that jobs of the caller get, in the state that these jobs see.
    """
    usable = {node.name for node in nodes if is_usable(node)}
    rows = [_HEADING]
    for one in partitions:
        mine = 0 if one.bars(caller) else len(usable.intersection(one.nodes))
        chosen = [f"{part.name} ({len(part.nodes)})" for part in choice.parts if part.partition is one]
        why_not = choice.why_not.get(one.name, "")
        rows.append((
            one_line(one.name, _NAME),
            f"{mine}/{len(one.nodes)}",
            _NO_LIMIT if one.most_nodes is None else str(one.most_nodes),
            _NO_LIMIT if one.longest_s is None else max_time(one.longest_s),
            one_line(f"chosen: {', '.join(chosen)}" if chosen else f"not: {why_not}", _WHY),
        ))  # fmt: skip
    yield from aligned(rows)
