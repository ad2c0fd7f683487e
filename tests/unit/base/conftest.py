import importlib
import pathlib

import pytest


@pytest.fixture
def room(monkeypatch):
    """``room(name)`` is a module of ``node_facts``."""
    monkeypatch.syspath_prepend(pathlib.Path(__file__).parents[3] / "reframe_checks/node/src")
    return lambda name: importlib.import_module(f"node_facts.{name}")
