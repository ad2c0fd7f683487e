"""A run becomes a fabric, the fabric a file, and the file the same fabric again."""

import msgspec
import pytest

from kappa.core.fabrics.description import fabric_yaml, load_fabric
from kappa.core.fabrics.simgrid_platform import settings
from kappa.core.ground.errors import InputError
from kappa.core.record.evidence import Curve, Simulation
from kappa.core.record.model import Case
from reports.predicted.calibrate import Machine, calibrated, held_out
from reports.predicted.pairs import PredictedPair

MACHINE = Machine("embedded", "cpu", 2, 2, 16, "mpirun (Open MPI) 4.1.4", "2026-11-23")
SIZES = [1 << exponent for exponent in range(3, 21)]


def measured(check, placement, figure_of):
    unit = "us" if check == "OsuLatency" else "MB/s"
    curve = Curve("Message size", "B", "Figure", unit, tuple((size, figure_of(size)) for size in SIZES))
    return Case(
        name=check, check_class=check, system="embedded", partition="cpu", result="pass",
        parameters={"placement": placement}, curves={"figure": curve},
    )  # fmt: skip


CASES = [
    measured("OsuLatency", "two_nodes", lambda size: 30 + size / 900),
    measured("OsuBandwidth", "two_nodes", lambda size: size / (5 + size / 1000)),
    measured("OsuLatency", "same_node", lambda size: 12 + size / 4000),
    measured("OsuBandwidth", "same_node", lambda size: size / (1 + size / 5000)),
]


@pytest.fixture
def fabric():
    return calibrated("embedded-cpu", MACHINE, CASES)


def with_errors(fabric, *factors):
    case = named("PatternAllreduce")
    found = [PredictedPair(case, "f", "t", "", "us", factor, 1.0, 1.0) for factor in factors]
    return msgspec.structs.replace(fabric, calibration=held_out(found))


def named(check):
    return Case(name=check, check_class=check, system="embedded", partition="cpu", result="pass")


def test_the_file_gives_the_fabric_back(fabric, tmp_path):
    whole = with_errors(fabric, 1.2, 0.5)
    path = tmp_path / "embedded-cpu.yaml"
    path.write_text(fabric_yaml(whole, "Made by a test."), encoding="utf-8")
    found = load_fabric(path)
    assert found == whole
    assert (found.kind, found.error) == ("calibrated", 2.0)


def test_the_fit_is_of_what_was_measured(fabric):
    software, link = fabric.software, fabric.link
    latency_us = software.send_us.value + software.receive_us.value + 2 * link.cable_latency_us.value
    assert latency_us + 8 / 1000 / link.bandwidth_gb_s.value == pytest.approx(30 + 8 / 900, rel=0.01)
    assert software.collectives == "ompi"
    of_sends = settings(fabric)["smpi/os"].split(";")
    assert len(of_sends) == len(SIZES) + 1
    assert [int(piece.split(":")[0]) for piece in of_sends] == [0, *SIZES]


def overhead_us(setting, size):
    """Read SMPI's setting as SMPI does: the value of the last piece that starts at ``size`` or below."""
    pieces = [tuple(map(float, piece.split(":"))) for piece in setting.split(";")]
    _, base_s, slope_s = max(piece for piece in pieces if piece[0] <= size)
    return 1e6 * (base_s + slope_s * size)


@pytest.mark.parametrize(("key", "fitted"), [("os", "send_us"), ("ois", "isend_us"), ("or", "receive_us")])
def test_the_simulator_is_given_what_was_fitted_at_each_size(fabric, key, fitted):
    by_size = fabric.software.by_size
    given = [overhead_us(settings(fabric)[f"smpi/{key}"], size) for size in by_size.bytes]
    assert given == pytest.approx(getattr(by_size, fitted), abs=1e-3)


@pytest.mark.parametrize("missing", range(4))
def test_what_was_not_measured_is_named(missing):
    cases = [case for number, case in enumerate(CASES) if number != missing]
    gone = CASES[missing]
    with pytest.raises(InputError, match=f"{gone.check_class}.*{gone.parameters['placement']}"):
        calibrated("embedded-cpu", MACHINE, cases)


def test_an_error_is_stated_on_what_was_held_out_alone(fabric):
    with pytest.raises(InputError, match="PatternAllreduce"):
        held_out([PredictedPair(named("RandomRing"), "f", "t", "", "us", 2.0, 1.0, 1.0)])
    [entry] = with_errors(fabric, 1.1, 1.5, 0.8).calibration.held_out
    assert (entry.check, entry.figures, entry.median_factor, entry.largest_factor) == ("PatternAllreduce", 3, 1.25, 1.5)


def test_a_simulated_case_has_a_kind_that_is_known():
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"fabric": "a", "variant": "sound", "kind": "measured", "platform_sha256": ""}, Simulation)
