"""Make a costly object once, in one of the processes that share the tests, for all of them."""

import os
import pathlib
import pickle
from collections.abc import Callable
from typing import TypeVar

import pytest

from kappa.core.ground.locks import locked

T = TypeVar("T")


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[pathlib.Path], T]) -> T:
    """What ``make(folder)`` gives, which can be pickled and stays as it is; ``folder`` is new, and lasts as long."""
    base = factory.getbasetemp()
    # Of each process, below that of the run.
    root = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "made-once"
    kept, folder = root / f"{name}.pickle", root / name
    with locked(root / f"{name}.lock", waiting=lambda: None):
        if not kept.exists():
            folder.mkdir()
            kept.write_bytes(pickle.dumps(make(folder)))
        return pickle.loads(kept.read_bytes())
