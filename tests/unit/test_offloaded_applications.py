"""Runs of an application with sums in the network, and the check's reading of libsharp's log."""

from types import SimpleNamespace

import pytest
from reframe.core.exceptions import SanityError

from reframe_checks.application.offloaded_applications import LammpsOffloaded
from reframe_checks.application.scaled_application import Layout
from tests.figures import figure
from tests.stand_in import StandIn

SHARP = {"OMPI_MCA_coll_hcoll_enable": 1, "HCOLL_ENABLE_SHARP": 3, "SHARP_COLL_LOG_LEVEL": 3}
TREE = "[n1:0:291 - context.c:759] INFO tree_info: type:LLT tree idx:0 treeID:0x0\n"


@pytest.fixture
def check():
    made = StandIn(
        LammpsOffloaded, laid_out=[Layout(1, 1), Layout(4, 2)], rounds=2,
        current_environ=SimpleNamespace(extras={"sharp": SHARP}),
        logs={"proof-network.out": TREE}, read_series=lambda: None, step_ms=lambda layout: 1000.0,
        measured=lambda layout, name: SimpleNamespace(step_s=2.0 if name.startswith("host-") else 1.0),
    )  # fmt: skip
    made.output_text = lambda name: made.logs.get(name, "")
    return made


def read(check):
    assert check.read_both().evaluate()
    return figure(LammpsOffloaded, "ratio", check)


def test_only_the_runs_that_prove_write_a_log(check):
    log, network = "SHARP_COLL_LOG_LEVEL=3", ["HCOLL_ENABLE_SHARP=3", "OMPI_MCA_coll_hcoll_enable=1"]
    assert check.settings_of("proof-host") == ["env", log]
    assert check.settings_of("proof-network") == ["env", network[0], network[1], log]
    assert check.settings_of("host-4-ranks-2x2-1") == []
    assert check.settings_of("4-ranks-2x2-1") == ["env", *network]


def test_the_ratio_is_of_the_medians(check):
    assert check.of_host(1) == "host-4-ranks-2x2-2"
    assert read(check) == 0.5


def test_a_tree_may_stand_in_the_log_of_the_application(check):
    check.logs = {"proof-network.log": f"Time = 0.1\n{TREE}"}
    assert read(check) == 0.5


@pytest.mark.parametrize(
    ("logs", "said"),
    [
        ({}, r"proof-network\.out: SHARP granted no tree"),
        ({"proof-network.out": TREE, "proof-host.log": TREE}, r"proof-host\.out: SHARP granted a tree"),
    ],
)
def test_what_the_log_does_not_prove_fails(check, logs, said):
    check.logs = logs
    with pytest.raises(SanityError, match=said):
        read(check)
