"""The benchmark's output has the promised figures and the place of the measurement."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from .conftest import APP


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(APP / "bench"))
    monkeypatch.delitem(sys.modules, "run", raising=False)
    return importlib.import_module("run")


def measured(**changes: Any) -> dict[str, Any]:
    ring, message = {"kappa_block_p50_us": 0.3}, {"kappa_block_p50_us": 0.25, "pingpong_us": 0.12}
    pairs = {f"{e}/{t}": pair for e in ("step", "slack") for t, pair in (("shared", ring), ("message", message))}
    return {
        "serial": {"1": {"step_us": 4.4, "times_bound": 1.5}, "100": {"step_us": 1870, "times_bound": 2.6}},
        "full": {"1": {"step_us": 10.5, "times_bound": 1.8}},
        "two_ranks": pairs,
        "common_network": {"times_faster_than_dpsim": 145},
        "machines": {41: {"times_faster_than_dpsim": 90}},
    } | changes


def test_targets_are_compared_with_what_was_measured(bench: Any) -> None:
    found = bench.targets(measured())
    assert found["step of the network alone, us"] == (4.4, 7.0, True)
    assert found["step of the full network, us"] == (10.5, 10.0, False)
    assert found["common network: times as fast as DPsim, at least"] == (145, 50.0, True)
    assert found["41 generators: times as fast as DPsim, at least"] == (90, 50.0, True)
    assert found["network alone x 1: step over the time to move its memory"] == (1.5, 2.0, True)
    assert found["network alone x 100: step over the time to move its memory"] == (2.6, 2.0, False)
    assert found["kappa' through the ring, slack, us"] == (0.3, 0.3, True)
    assert found["kappa' with messages, step, us"] == (0.25, 0.24, False)
    shown = bench.table(found).splitlines()
    assert [line.split("  ")[-1] for line in shown[1:]] == [
        "met", "met", "not met", "not met", "met", "met", "met", "met", "not met", "met", "not met",
    ]  # fmt: skip


def test_what_was_not_measured_is_said(bench: Any) -> None:
    without = {"times_faster_than_dpsim": None}
    found = bench.targets(measured(serial={"10": {"step_us": 47, "times_bound": 1.5}}, common_network=without))
    assert found["step of the network alone, us"] == (None, 7.0, None)
    assert found["common network: times as fast as DPsim, at least"] == (None, 50.0, None)
    assert bench.table(found).count("not measured") == 2


def test_provenance_and_targets_are_written(bench: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    origin = {"host": "a", "compiler": "b", "mpi": "c", "date": "d"}
    result = {
        "step_us": {"p50": 4.4, "mean": 5, "block_p50": 4.5}, "phi_us": 4, "phi_cached_us": 3, "sigma_us": 0.03,
        "bytes_touched": 4e5, "bytes_written": 1e5, "ring_bytes": 1e5, "isa": "avx2", "kappa_p50_us": 0.2,
        "kappa_block_p50_us": 0.25, "imbalance_us": 0.1, "exchange_p50_us": 0.1, "bytes_per_step": {"total": 192},
        "messages_per_step": 2, "provenance": origin, "profile": [],
    }  # fmt: skip

    def call(*command: object) -> str:
        words = [str(word) for word in command]
        if "--result" in words:
            Path(words[words.index("--result") + 1]).write_text(json.dumps(result))
        return "150"

    monkeypatch.setattr(bench, "call", call)
    for part in ("common", "machines"):
        monkeypatch.setattr(bench.Bench, part, lambda *_: {"times_faster_than_dpsim": None})
    output = tmp_path / "bench.json"
    monkeypatch.setattr(sys, "argv", ["run.py", "--build", "b", "--output", str(output), "--scales", "1"])
    assert bench.main() == 0
    written = json.loads(output.read_text())
    assert written["provenance"] == origin
    assert written["targets"]["kappa' through the ring, step, us"] == [0.25, 0.3, True]
