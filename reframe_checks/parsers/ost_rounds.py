"""Which node writes to which object storage target when, as ``storage/src/ost_rounds.py`` plans it in the job."""

import re
from dataclasses import dataclass

from reframe_checks.parsers.text import Output

_TURN = re.compile(r"([1-9][0-9]{0,6}) ([A-Za-z0-9][\w.-]{0,252}) ([0-9]{1,5})")


@dataclass(frozen=True)
class Turn:
    """In the round ``number`` ``node`` writes to the target ``index``."""

    number: int
    node: str
    index: int


def parse(text: str) -> tuple[Turn, ...]:
    """
    :raises ParseError: no turn; a line that is none; rounds that are not 1, 2, 3, …; a node or a target twice in one.
    """
    output = Output.read("rounds.txt", text)
    turns: list[Turn] = []
    for number, line in enumerate(output.lines, start=1):
        match = _TURN.fullmatch(line)
        if not match:
            raise output.error(number, "`ROUND NODE INDEX`")
        turn = Turn(int(match[1]), match[2], int(match[3]))
        last = turns[-1].number if turns else 0
        if turn.number not in (last, last + 1):
            raise output.error(number, f"round {last} or {last + 1}")
        if any(one.number == turn.number and (one.node == turn.node or one.index == turn.index) for one in turns):
            raise output.error(number, "a node and a target once in a round")
        turns.append(turn)
    if not turns:
        raise output.missing("a round")
    return tuple(sorted(turns, key=lambda turn: (turn.number, turn.index)))
