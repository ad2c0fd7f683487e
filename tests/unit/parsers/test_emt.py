import json

import pytest

from reframe_checks.parsers import emt
from reframe_checks.parsers.errors import ParseError


@pytest.fixture
def text(recorded):
    return recorded("emt/two_ranks.json")


def changed(text, **values):
    return json.dumps({**json.loads(text), **values}) + "\n"


def test_figures_agree_with_each_other(text):
    result = emt.parse(text)
    assert (result.ranks, result.exchange, result.steps) == (2, "step", 2000)
    step_us = json.loads(text)["step_us"]
    assert result.step_block_p50_us == step_us["block_p50"]
    overhead_us = result.step_block_p50_us - result.sigma_us - result.phi_us / 2
    assert result.kappa_block_p50_us == pytest.approx(overhead_us, abs=1e-3)
    assert result.speedup == pytest.approx((result.sigma_us + result.phi_us) / step_us["mean"], abs=1e-3)
    # The standard Karp-Flatt formula.
    assert result.karp_flatt == pytest.approx((1 / result.speedup - 1 / 2) / (1 - 1 / 2), rel=1e-2)


def test_one_rank_has_no_karp_flatt(recorded):
    assert emt.parse(recorded("emt/one_rank.json")).karp_flatt is None


def test_injected_work_of_a_simulated_machine(recorded):
    result = emt.parse(recorded("emt/simulated.json"))
    assert (result.simulated, result.ranks, result.phi_us, result.sigma_us) == (True, 3, 100, 0)
    assert 1 < result.heaviest_task_us < result.phi_us / result.ranks


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"simulated": False}, "phi_by: injected where the machine is simulated, else replay"),
        ({"exchange_by": "shared-memory"}, "exchange_by: messages, of several simulated ranks"),
        ({"heaviest_task_us": None}, "heaviest_task_us: a number"),
    ],
)
def test_a_simulated_machine_that_contradicts_itself(recorded, values, message):
    with pytest.raises(ParseError, match=message):
        emt.parse(changed(recorded("emt/simulated.json"), **values))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"format": "other"}, "kappa-emt-result, version 1"),
        ({"version": 2}, "kappa-emt-result, version 1"),
        ({"replay_exact": False}, "replay"),
        ({"phi_us": None}, "phi_us: a number"),
        ({"phi_us": -1}, "phi_us: a number, at least 0"),
        ({"kappa_us": 99.0}, "kappa_us: mean step time"),
        ({"kappa_block_p50_us": 99.0}, "kappa_block_p50_us: block_p50 - sigma"),
        ({"speedup": 9.0}, "speedup"),
        ({"karp_flatt": None}, "karp_flatt"),
        ({"ranks": 0}, "ranks: an integer, at least 1"),
        ({"checksum": 5}, "checksum: a text"),
    ],
)
def test_what_contradicts_is_an_error(text, values, message):
    with pytest.raises(ParseError, match=message):
        emt.parse(changed(text, **values))


def test_a_result_without_blocks_names_the_key(text):
    step_us = {key: value for key, value in json.loads(text)["step_us"].items() if key != "block_p50"}
    with pytest.raises(ParseError, match=r"step_us\.block_p50: a value, found no such key"):
        emt.parse(changed(text, step_us=step_us))


@pytest.mark.parametrize("damaged", ["", "{}\n", "[]\n", "{\n"])
def test_what_is_no_result_is_an_error(damaged):
    with pytest.raises(ParseError):
        emt.parse(damaged)
