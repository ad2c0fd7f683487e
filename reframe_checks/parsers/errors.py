"""The one error that parsers raise."""


class ParseError(ValueError):
    """Benchmark output that cannot be trusted.

    :param what: what was being parsed.
    :param expected: what should have been there.
    :param text, line: the text and the number (from 1) of the line where it was not.
    """

    def __init__(self, what: str, expected: str, *, text: str = "", line: int = 1) -> None:
        lines = text.split("\n", line)
        found = lines[line - 1] if len(lines) >= line else ""
        shown = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in found[:120])
        super().__init__(f"{what}, line {line}: expected {expected}; found {shown!r}")
