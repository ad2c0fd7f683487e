"""Metrics and bounds of the scaling check of the EMT application."""

import json
import pathlib
import re

import pytest
import yaml

from kappa.core.sites.references import read_sources, source_of
from reframe_checks.application.emt import EmtScaling
from tests.figures import figure
from tests.stand_in import StandIn

REFERENCES = pathlib.Path(__file__).parents[2] / "site_configs/embedded/references/application.yaml"


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
    return StandIn(
        EmtScaling, repeats=3, num_tasks=2, exchange=base["exchange"], steps=base["steps"], sigma_us=base["sigma_us"],
        output_text=lambda name: results[int(name.removeprefix("result-").removesuffix(".json")) - 1],
    )  # fmt: skip


def test_the_medians_of_blocks_and_of_repeats_are_gated(check):
    assert check.read_results().evaluate()
    assert figure(EmtScaling, "step_time", check) == 4.0
    # Over the repeats: 3.0, 2.0 and 2.75, less sigma.
    kappa_us = 2.75 - check.sigma_us
    assert figure(EmtScaling, "kappa", check) == pytest.approx(kappa_us, abs=1e-3)
    assert check.scaling["kappa_us"] == pytest.approx(kappa_us, abs=1e-3), "curves show the gated value"


@pytest.mark.parametrize(
    ("scale", "exchange", "usual_us", "overhead_us"),
    [
        ("one_core", "step", 5.0, 0.7), ("one_core", "slack", 5.0, 0.7),
        ("one_node", "slack", 3.4, 1.1), ("two_nodes", "step", 200, 200), ("two_nodes", "slack", 50, 50),
    ],
)  # fmt: skip
def test_the_embedded_site_fails_a_case_that_is_twenty_times_slower(scale, exchange, usual_us, overhead_us):
    found = yaml.safe_load(REFERENCES.read_text(encoding="utf-8"))["EmtScaling"]
    assert found["$index"] == ["scale", "exchange"]
    for value in (scale, exchange):
        found = next(below for pattern, below in found.items() if re.fullmatch(pattern, value))
    limit, _, above, _ = found["step_time"]
    assert 2 * usual_us < limit * (1 + above) < 20 * usual_us
    zero, _, above, _ = found["kappa"]
    assert zero == 0
    assert 2 * overhead_us < above < 50 * overhead_us
    method = source_of(read_sources(REFERENCES), f"EmtScaling.{scale}.{exchange}.kappa")
    assert method is not None
    assert (method["source"], method["samples"] > 0) == ("learned", True)
