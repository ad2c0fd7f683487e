"""What is met many times over is counted as loose, by the value that is nearest to its bound."""

from reports.verdict.loose import Loose, tightness_of
from tests.unit.reports.samples import judged, latency, report


def found(tmp_path, *values):
    return tightness_of(judged(report([latency(value=value) for value in values]), tmp_path).cases)


def test_the_nearest_value_counts(tmp_path):
    assert found(tmp_path, 5.0, 10.0).loose == (Loose("OsuLatency", "latency_8B", 50.0),)
    assert found(tmp_path, 5.0, 250.0).loose == ()


def test_the_median_is_of_all_bounds(tmp_path):
    tightness = found(tmp_path, 250.0)
    assert (tightness.bounds, tightness.median) == (1, 2.0)
    assert (found(tmp_path).bounds, found(tmp_path).median) == (0, None)
