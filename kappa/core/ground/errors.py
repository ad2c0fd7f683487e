"""The error of bad input, which names the file, the key and what was expected there; words that suggest a name."""

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """A report, a site file or an argument that cannot be used; the message is for the user."""


def suggestion(name: str, legal: Iterable[str]) -> str:
    """Words for the end of an error message: the legal name nearest to ``name``, or all where they are few and far."""
    known = sorted({str(one) for one in legal})
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    if near:
        return f"did you mean {near[0]!r}?"
    return f"expected one of {', '.join(known)}" if 0 < len(known) <= 12 else "no name is like it"
