"""``--json FILE``: for machines, in a file of its own or, as ``-``, in place of what people read."""

import json
import pathlib
from typing import Any

from kappa.core.ground.whole_files import write_atomically

STDOUT = pathlib.Path("-")


def alone(path: pathlib.Path | None) -> bool:
    """Whether nothing else may be printed on standard output."""
    return path == STDOUT


def write_json(path: pathlib.Path | None, document: Any) -> None:
    """Write ``document``, or a text that is JSON already, if it was asked for.

    :raises InputError: the file cannot be written; nothing is left behind.
    """
    if path is None:
        return
    # What is no number in JSON (infinity, for instance) is none here either.
    text = document if isinstance(document, str) else json.dumps(document, indent=1, allow_nan=False) + "\n"
    if alone(path):
        print(text, end="", flush=True)
    else:
        write_atomically(path, text)
