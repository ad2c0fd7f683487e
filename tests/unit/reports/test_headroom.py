import pytest

from reports.show.headroom_bar import BOUND_AT, bar_of
from reports.verdict.headroom import headroom
from tests.unit.reports.samples import judged, with_metric


def metric_of(tmp_path, *figure):
    (metric,) = judged(with_metric(*figure), tmp_path).cases[1].metrics
    return metric


@pytest.mark.parametrize(
    ("figure", "ratio"),
    [
        ((200, 100, 0, None), 2),  # at least 100
        ((50, 100, 0, None), 0.5),
        ((50, 100, None, 0), 2),  # at most 100
        ((400, 100, None, 0), 0.25),
        ((100, 100, -0.5, 0.25), 1.25),  # 50 to 125: the nearer one
        ((-50, -100, -0.2, None), 2.4),  # at least -120: half of it is better
        ((100, 100, 0, 0), None),  # exactly
        ((5, 0, None, 0), None),
        ((-5, 0, None, 10), None),
        ((5, 500, None, None), None),
    ],
)
def test_how_many_times_better_than_the_bound(figure, ratio, tmp_path):
    assert headroom(metric_of(tmp_path, *figure)) == (None if ratio is None else pytest.approx(ratio))


def test_the_bar_is_logarithmic_and_ends(tmp_path):
    ten, hundred, million = (bar_of(metric_of(tmp_path, 500 / ratio)) for ratio in (10, 100, 1e6))
    assert (ten.start, ten.width, ten.text) == (BOUND_AT, 40, "× 10")
    assert (hundred.start, hundred.width) == (million.start, million.width) == (BOUND_AT, 80)
    beyond = bar_of(metric_of(tmp_path, 900))
    assert beyond.start + beyond.width == BOUND_AT
    assert beyond.text == "× 0.56"


def test_just_out_of_bounds_is_not_one(tmp_path):
    assert bar_of(metric_of(tmp_path, 500.4)).text == "× 0.9992"
    assert bar_of(metric_of(tmp_path, 500)).text == "× 1"


def test_what_has_none_has_no_bar(tmp_path):
    assert bar_of(None).width is None
    assert bar_of(metric_of(tmp_path, 0, 1, 0, None)).width is None
