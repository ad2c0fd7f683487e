"""Read options of sbatch."""

import itertools
from collections.abc import Sequence


def option_value(options: Sequence[str], name: str, letter: str = "") -> str:
    """Return the value of an option, written as ``-A x``, ``-Ax``, ``--account=x`` or ``--account x``; empty if none.

    :param options: each with one option or several words. The last one counts.
    """
    said = ""
    words = [word for option in options for word in option.split()]
    for word, after in itertools.pairwise([*words, ""]):
        if word == f"--{name}" or (letter and word == f"-{letter}"):
            said = after
        elif word.startswith(f"--{name}="):
            said = word.partition("=")[2]
        elif letter and word.startswith(f"-{letter}") and not word.startswith("--"):
            said = word[2:]
    return said
