"""Make text of a job or a user harmless before it is shown.

Job output may contain terminal control sequences (ECMA-48) that move the cursor or recolour a terminal, Unicode
direction marks that change how text reads, and code points that no encoder accepts.
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
    | [\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f]  # direction marks, invisible characters
    | [\ufeff\ufff9-\ufffb\ufffe\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]
    | [\ud800-\udfff]                                            # lone surrogates
    """,
    re.VERBOSE,
)
# Python takes these for printable: joiners, fillers and selectors of variants, all without a glyph of their own.
_NO_GLYPH = r"|[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0]"
_HIDDEN = re.compile(_CONTROL.pattern + _NO_GLYPH, re.VERBOSE)
# Escapes in JSON that may encode removed characters. Escapes of letters and signs from Latin to Hebrew, of arrows and
# of mathematics are not among them: a report has one for every µ.
_ESCAPES = re.compile(r"\\(?:[bfr]|u(?!00(?!ad)[a-f]|0[1-5]|2[1-9]))")


def clean(text: str) -> str:
    """Return ``text`` without control sequences, invisible and unencodable characters. Keep tabs and newlines."""
    # The pattern matches no printable text, and this test is ten times faster.
    return text if text.isprintable() else _CONTROL.sub("", text)


def hidden_at(text: str) -> int | None:
    """Return the index of the first character that a reader of ``text`` does not see; tabs and newlines are none."""
    match = None if text.isascii() and text.isprintable() else _HIDDEN.search(text)
    return match.start() if match else None


def clean_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object with every string clean; a hook for ``json.load``.

    :raises ValueError: two keys are equal, or become equal when they are cleaned; one would be lost.
    """
    result = {clean(key): _clean_scalars(value) for key, value in pairs}
    if len(result) < len(pairs):
        raise ValueError(f"an object has a key twice; its keys are {', '.join(clean(key) for key, _ in pairs[:20])}")
    return result


def is_clean_json(text: str) -> bool:
    """Return whether no string of a valid JSON text needs cleaning; False if only a look at each string can tell."""
    if _ESCAPES.search(text):
        return False
    # JSON allows no raw control character in a string except DEL.
    return "\x7f" not in text if text.isascii() else text.replace("\n", "").replace("\t", "").isprintable()


def _clean_scalars(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_clean_scalars(item) for item in value]
    return value


def one_line(text: str, limit: int) -> str:
    """Return ``text`` with white space folded to single blanks, cut to ``limit`` characters with an ellipsis."""
    # Folding a prefix is enough, and is cheap for a line of many megabytes.
    folded = " ".join(text[: 4 * limit].split())
    return folded if len(folded) <= limit and len(text) <= 4 * limit else folded[: limit - 1].rstrip() + "…"
