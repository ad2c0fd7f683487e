"""What is met many times over is counted as loose, by the value that is nearest to its bound."""

from reports.verdict.loose import Loose, tightness_of
from tests.unit.reports.samples import judged, latency, report


def found(tmp_path, *values):
    return tightness_of(judged(report([latency(value=value) for value in values]), tmp_path).cases)


def test_the_nearest_value_counts(tmp_path):
    assert found(tmp_path, 5.0, 10.0).loose == (Loose("OsuLatency", "latency_8B", 50.0),)
    assert found(tmp_path, 5.0, 250.0).loose == ()


def test_a_relative_bound_is_counted_apart(tmp_path):
    far = latency(value=5.0, relative=["latency_8B"], job_nodelist=["n1", "n2", "n3"])
    tightness = tightness_of(judged(report([far]), tmp_path).cases)
    assert (tightness.bounds, tightness.loose, tightness.relative, tightness.relative_median) == (0, (), 1, 100.0)


def test_the_median_is_of_all_bounds(tmp_path):
    tightness = found(tmp_path, 250.0)
    assert (tightness.bounds, tightness.median) == (1, 2.0)
    assert (found(tmp_path).bounds, found(tmp_path).median) == (0, None)
