"""Builds that are kept: another run of the tests compiles what has changed since."""

import contextlib
import pathlib
from collections.abc import Iterator

from kappa.ground.locks import locked

BUILDS = pathlib.Path(__file__).parents[1] / ".kappa/build/tests"


@contextlib.contextmanager
def kept_build(name: str) -> Iterator[pathlib.Path]:
    """The folder of a build, which is made or brought up to date in the block: in one process at a time."""
    with locked(BUILDS / f"{name}.lock", waiting=lambda: None):
        yield BUILDS / name
