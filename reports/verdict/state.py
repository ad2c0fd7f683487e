"""The states of metrics, cases and verdicts, worst last, with the symbol and the word that show them."""

from enum import Enum


class State(Enum):
    """A state is told by symbol and word, so that it needs no colour."""

    INFO = ("info", "·")
    PASS = ("pass", "✔")
    KNOWN = ("known failure", "◆")
    INCOMPLETE = ("incomplete", "◌")
    FAIL = ("fail", "✘")

    def __init__(self, word: str, symbol: str) -> None:
        self.word = word
        self.symbol = symbol

    @property
    def severity(self) -> int:
        return list(State).index(self)

    @property
    def label(self) -> str:
        return f"{self.symbol} {self.word.upper()}"
