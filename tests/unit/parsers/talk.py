"""Lines of libraries, launchers and shells on standard output, by speaker: ``tests/data/talk/lines.txt``."""

from tests.unit.conftest import DATA

_PARTS = (DATA / "talk/lines.txt").read_text().split("@@ ")[1:]
TALK = [(who, lines) for who, _, lines in (part.partition("\n") for part in _PARTS)]


def said_by(speaker: str) -> str:
    """The first line of the first example."""
    return next(lines.partition("\n")[0] + "\n" for who, lines in TALK if who == speaker)
