"""The fit recovers a machine from its ping-pong and burst."""

import pytest

from reports.predicted.calibrate import fit

SIZES = [1 << exponent for exponent in range(3, 21)]


def machine(latency_us, bandwidth_mb_s, send_us, receive_us, window):
    """Return OSU's figure on a machine of SMPI's model."""
    ping_pong = {size: send_us(size) + latency_us + size / bandwidth_mb_s + receive_us(size) for size in SIZES}
    answer_us = ping_pong[SIZES[0]]
    each_us = {size: max(send_us(size), receive_us(size), size / bandwidth_mb_s) for size in SIZES}
    return ping_pong, {size: size / (each_us[size] + answer_us / window) for size in SIZES}


def ping_pong_us(fitted, size):
    """Return the model's half of the round trip."""
    return fitted.send_us[size] + fitted.latency_us + size / fitted.bandwidth_mb_s + fitted.receive_us[size]


@pytest.mark.parametrize(
    ("latency_us", "overhead_us", "bandwidth_mb_s"), [(1.2, 0.3, 12_000), (20, 4, 1_200), (0.5, 0.6, 25_000)]
)
def test_a_machine_with_equal_sides_is_found(latency_us, overhead_us, bandwidth_mb_s):
    def side(size):
        return overhead_us

    fitted = fit(*machine(latency_us, bandwidth_mb_s, side, side, 64), 64)
    assert fitted.latency_us == pytest.approx(latency_us, rel=0.02)
    assert fitted.bandwidth_mb_s == pytest.approx(bandwidth_mb_s, rel=0.02)
    assert fitted.isend_us[8] == pytest.approx(overhead_us, rel=0.02)


def test_ping_pong_and_burst_are_met_at_every_size():
    ping_pong, burst = machine(15, 900, lambda size: 6 + size / 4000, lambda size: 5 + size / 5000, 16)
    fitted = fit(ping_pong, burst, 16)
    for size in SIZES:
        assert ping_pong_us(fitted, size) == pytest.approx(ping_pong[size], rel=0.02)
        assert max(fitted.isend_us[size], fitted.receive_us[size], size / fitted.bandwidth_mb_s) == pytest.approx(
            size / burst[size] - ping_pong[8] / 16, rel=0.02
        )


def test_a_burst_slower_than_the_ping_pong_leaves_the_network_something():
    """More messages wait in line than one by one: no side can take more than the ping-pong has."""
    fitted = fit({8: 10.0, 1 << 20: 1000.0}, {8: 0.1, 1 << 20: 1000.0}, 64)
    assert 0 < fitted.latency_us < 10
    assert ping_pong_us(fitted, 8) == pytest.approx(10, rel=0.01)


@pytest.mark.parametrize(
    ("latency", "burst", "window"),
    [({8: 1.0}, {8: 1.0}, 64), ({8: 1.0, 16: 1.0}, {8: 1.0}, 64), ({8: 1.0, 16: -1.0}, {8: 1.0, 16: 1.0}, 64),
     ({8: 1.0, 16: 1.0}, {8: 1.0, 16: 1.0}, 0)],
)  # fmt: skip
def test_what_cannot_be_fitted_is_refused(latency, burst, window):
    with pytest.raises(ValueError, match="expected"):
        fit(latency, burst, window)
