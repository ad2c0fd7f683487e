"""Which metrics a system of equations has: those of the program that ran."""

from types import SimpleNamespace

import pytest

from reframe_checks.compute.hpl import Hpl

OF_HPL = ["fraction_of_peak", "gflops"]
OF_HPCC = ["fft", *OF_HPL, "ptrans", "random_access", "star_stream_triad"]
OF_RINGS = ["random_ring_bandwidth", "random_ring_latency"]


@pytest.mark.parametrize(
    ("program", "ranks", "left"), [("xhpl", 8, OF_HPL), ("hpcc", 1, OF_HPCC), ("hpcc", 8, [*OF_HPCC, *OF_RINGS])]
)
def test_what_the_program_does_not_measure_is_no_metric(program, ranks, left):
    made = SimpleNamespace(
        executable=program, num_tasks=ranks, perf_variables=dict.fromkeys([*OF_HPCC, *OF_RINGS]), declared_metrics=[]
    )
    stages = Hpl.pipeline_hooks()
    hooks = [hook for stage in ("post_sanity", "pre_performance") for hook in stages[stage]]
    # In ReFrame's order: what is declared and not measured fails the check.
    for hook in hooks:
        if hook.__name__ in ("leave_out_what_did_not_run", "record_declared_metrics"):
            hook(made)
    assert made.declared_metrics == sorted(made.perf_variables) == sorted(left)
