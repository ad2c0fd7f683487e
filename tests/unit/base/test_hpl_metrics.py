"""Metrics of a system of equations depend on the program that ran."""

from types import SimpleNamespace

import pytest

from reframe_checks.compute.hpl import Hpl
from reframe_checks.compute.hpl_nvidia import HplNvidia
from tests.stand_in import StandIn

OF_HPL = ["fraction_of_peak", "gflops"]
OF_HPCC = ["fft", *OF_HPL, "ptrans", "random_access", "star_stream_triad"]
OF_RINGS = ["random_ring_bandwidth", "random_ring_latency"]


@pytest.mark.parametrize(
    ("program", "ranks", "left"), [("xhpl", 8, OF_HPL), ("hpcc", 1, OF_HPCC), ("hpcc", 8, [*OF_HPCC, *OF_RINGS])]
)
def test_what_the_program_does_not_measure_is_no_metric(program, ranks, left):
    metrics = dict.fromkeys([*OF_HPCC, *OF_RINGS])
    made = StandIn(Hpl, executable=program, num_tasks=ranks, perf_variables=metrics)
    stages = Hpl.pipeline_hooks()
    hooks = [hook for stage in ("post_sanity", "pre_performance") for hook in stages[stage]]
    # In ReFrame's order: a metric that is declared but not measured fails the check.
    for hook in hooks:
        if hook.__name__ in ("leave_out_what_did_not_run", "record_declared_metrics"):
            hook(made)
    assert made.declared_metrics == sorted(made.perf_variables) == sorted(left)


@pytest.mark.parametrize(
    ("check", "extras", "missing"),
    [
        (Hpl, {"peak_gflops_per_core": 35.2}, ""),
        (Hpl, {}, "peak_gflops_per_core"),
        (HplNvidia, {"peak_gflops_per_core": 35.2}, "peak_gflops_per_gpu"),
        (HplNvidia, {}, "peak_gflops_per_gpu and peak_gflops_per_core"),
    ],
)
def test_without_a_peak_there_is_no_fraction_of_it_and_the_reason_is_kept(check, extras, missing):
    partition = SimpleNamespace(name="cpu", extras=extras)
    made = StandIn(check, current_partition=partition, unmeasured={}, perf_variables=dict.fromkeys(OF_HPL))
    [leave_out] = [
        hook for hook in check.pipeline_hooks()["post_sanity"]
        if hook.__name__ == "leave_out_the_fraction_of_no_peak"
    ]  # fmt: skip
    leave_out(made)
    assert ("fraction_of_peak" in made.perf_variables) == (not missing)
    assert made.unmeasured == ({"fraction_of_peak": f"partition cpu has no {missing}"} if missing else {})
