"""Lines of a site's file, each value with where it comes from."""

from typing import NamedTuple

#: Before what could not be found.
MARK = "FILL IN"


class Line(NamedTuple):
    """``source``: where the value comes from, as a comment at the end."""

    depth: int
    text: str
    source: str = ""

    def __str__(self) -> str:
        return "  " * self.depth + self.text + (f"  # {_folded(self.source)}" if self.source else "")


def ask(depth: int, words: str) -> Line:
    return Line(depth, f"# {MARK}: {_folded(words)}")


def _folded(words: str) -> str:
    """A comment of YAML ends with its line."""
    return " ".join(words.split())
