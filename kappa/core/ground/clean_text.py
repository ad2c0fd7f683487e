"""Text that a job or a user wrote, made harmless before anything shows it.

Job output may hold terminal control sequences (ECMA-48) that move the cursor or recolour a terminal, Unicode
direction marks that make text read as something else, and code points that no encoder accepts.
"""

import re
from typing import Any

_CONTROL = re.compile(
    r"""
      (?:\x1b\]|\x9d) [^\x07\x1b\x9c]* (?:\x07|\x1b\\|\x9c)?     # OSC: titles, links, clipboard
    | (?:\x1b[PX^_]|[\x90\x98\x9e\x9f]) [^\x1b\x9c]* (?:\x1b\\|\x9c)?   # DCS, SOS, PM, APC strings
    | (?:\x1b\[|\x9b) [0-?]* [ -/]* [@-~]?                       # CSI: colours, cursor
    | \x1b [ -/]* [0-~]?                                         # any other escape sequence
    | [\x00-\x08\x0b-\x1f\x7f-\x9f]                              # C0 and C1 controls but tab and newline
    | [\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff]   # direction marks, invisible characters
    | [\ud800-\udfff]                                            # lone surrogates
    """,
    re.VERBOSE,
)
# Escapes in JSON that may stand for what is removed: not those of letters and signs from Latin to Hebrew, arrows and
# mathematics, which a report writes for every µ.
_ESCAPES = re.compile(r"\\(?:[bfr]|u(?!00[a-f]|0[1-5]|2[1-9]))")


def clean(text: str) -> str:
    """``text`` without control sequences, invisible characters and what cannot be encoded; keeps tabs and newlines."""
    # Nothing that the pattern matches is printable, and asking is ten times faster.
    return text if text.isprintable() else _CONTROL.sub("", text)


def clean_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Hook for ``json.load``: an object with every string in it clean.

    :raises ValueError: two keys are the same, or differ only in what was removed; one would be lost.
    """
    result = {clean(key): _clean_scalars(value) for key, value in pairs}
    if len(result) < len(pairs):
        raise ValueError(f"an object has a key twice; its keys are {', '.join(clean(key) for key, _ in pairs[:20])}")
    return result


def is_clean_json(text: str) -> bool:
    """Whether no string of a valid JSON text needs to be cleaned; false when only a look at each can tell."""
    if _ESCAPES.search(text):
        return False
    # JSON allows no raw control character in a string, DEL excepted.
    return "\x7f" not in text if text.isascii() else text.replace("\n", "").replace("\t", "").isprintable()


def _clean_scalars(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_clean_scalars(item) for item in value]
    return value


def one_line(text: str, limit: int) -> str:
    """``text`` with all white space folded to single blanks, cut to ``limit`` characters with an ellipsis."""
    # Folding a prefix is enough, and keeps a line of many megabytes cheap.
    folded = " ".join(text[: 4 * limit].split())
    return folded if len(folded) <= limit and len(text) <= 4 * limit else folded[: limit - 1].rstrip() + "…"
