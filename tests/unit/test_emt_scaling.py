"""What the scaling check of the EMT application gates."""

import json
from types import SimpleNamespace

import pytest

from reframe_checks.application.emt_scaling import EmtScaling


def repeat(recorded, block_p50_us, phi_us, mean_us):
    """A recorded result on two ranks with other times."""
    result = json.loads(recorded)
    step_us = {"mean": mean_us, "block_p50": block_p50_us, "p50": 1.0, "p99": 2.0, "max": 1e6}
    speedup = (phi_us + result["sigma_us"]) / mean_us
    figures = {
        "step_us": step_us, "phi_us": phi_us, "speedup": speedup, "efficiency": speedup / 2,
        "kappa_us": mean_us - result["sigma_us"] - phi_us / 2,
        "kappa_block_p50_us": block_p50_us - result["sigma_us"] - phi_us / 2,
    }  # fmt: skip
    return json.dumps({**result, **figures}) + "\n"


@pytest.fixture
def check(recorded):
    """Three repeats: each one's mean is moved by an interruption, and work and step time are ordered differently."""
    text = recorded("emt/two_ranks.json")
    results = [repeat(text, 4.0, 2.0, 900.0), repeat(text, 5.0, 6.0, 300.0), repeat(text, 3.0, 0.5, 700.0)]
    base = json.loads(text)
    return SimpleNamespace(
        repeats=3, num_tasks=2, num_nodes_used=1, exchange=base["exchange"], steps=base["steps"],
        sigma_us=base["sigma_us"],
        output_text=lambda name: results[int(name.removeprefix("result-").removesuffix(".json")) - 1],
        parsed=lambda parse, output: parse(output),
    )  # fmt: skip


def test_the_medians_of_blocks_and_of_repeats_are_gated(check):
    assert EmtScaling.read_results.__wrapped__(check)
    assert EmtScaling.step_time.__wrapped__(check) == 4.0
    # Over the repeats: 3.0, 2.0 and 2.75, less sigma.
    kappa_us = 2.75 - check.sigma_us
    assert EmtScaling.kappa.__wrapped__(check) == pytest.approx(kappa_us, abs=1e-3)
    assert check.scaling["kappa_us"] == pytest.approx(kappa_us, abs=1e-3), "curves show the gated value"
