"""The error for bad input, which names the file, the key and the expected value; suggestions for a mistyped name."""

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """A report, a site file or an argument is not valid; the message is for the user."""


def suggestion(name: str, legal: Iterable[str]) -> str:
    """Return the end of an error message: the most similar legal name, or all legal names if there are at most 12."""
    known = sorted({str(one) for one in legal})
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    if near:
        return f"did you mean {near[0]!r}?"
    return f"expected one of {', '.join(known)}" if 0 < len(known) <= 12 else "no name is like it"
