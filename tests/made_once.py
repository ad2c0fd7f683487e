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
    """Return the result of ``make(folder)``, which can be pickled and never changes. ``folder`` is new and stays."""
    base = factory.getbasetemp()
    # One folder per process, below the run's folder.
    root = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "made-once"
    kept, folder = root / f"{name}.pickle", root / name
    with locked(root / f"{name}.lock", waiting=lambda: None):
        if not kept.exists():
            folder.mkdir()
            kept.write_bytes(pickle.dumps(make(folder)))
        return pickle.loads(kept.read_bytes())
