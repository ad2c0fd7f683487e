"""The states of metrics, cases and verdicts, worst last, with the symbol and the word that show them."""

from enum import Enum


class State(Enum):
    """A state is told by symbol and word, so that it needs no colour."""

    INFO = "INFO"
    PASS = "PASS"
    KNOWN = "KNOWN"
    INCOMPLETE = "INCOMPLETE"
    FAIL = "FAIL"

    @property
    def word(self) -> str:
        return "known failure" if self is State.KNOWN else self.value.lower()

    @property
    def symbol(self) -> str:
        return "·✔◆◌✘"[self.severity]

    @property
    def severity(self) -> int:
        return list(State).index(self)

    @property
    def label(self) -> str:
        return f"{self.symbol} {self.word.upper()}"
