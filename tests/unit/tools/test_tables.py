import pytest

from kappa.core.ground.errors import InputError
from tests.tables import Place, Rate, least_trials


@pytest.mark.parametrize(
    ("hits", "trials", "low", "high"),
    [
        # None or all of n: the bounds are 1 - (α/2)^(1/n) and (α/2)^(1/n).
        (0, 10, 0.0, 1 - 0.025**0.1),
        (10, 10, 0.025**0.1, 1.0),
        # Clopper and Pearson's own kind of example, from tables of the binomial distribution.
        (5, 10, 0.1871, 0.8129),
    ],
)
def test_interval(hits, trials, low, high):
    assert Rate(hits, trials).interval() == pytest.approx((low, high), abs=1e-4)


def test_nothing_tried_says_nothing():
    assert Rate(0, 0).interval() == (0, 1)
    assert str(Rate(0, 0)) == "–"


@pytest.mark.parametrize("rate", [0.01, 0.05, 0.5])
def test_the_least_number_of_trials_that_shows_a_rate(rate):
    trials = least_trials(rate)
    assert Rate(0, trials).interval()[1] <= rate < Rate(0, trials - 1).interval()[1]


def test_text():
    assert str(Rate(3, 3)) == "3/3 (29–100 %)"


PLACE = Place("<!-- begin -->", "<!-- end -->")


def test_the_text_in_a_place_is_replaced_and_nothing_else(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- begin -->\nold\n<!-- end -->\nb\n")
    PLACE.write(page, "new")
    assert page.read_text() == "a\n<!-- begin -->\nnew\n<!-- end -->\nb\n"
    assert page.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("text", ["a\n", "<!-- begin -->\n", "<!-- end -->\n<!-- begin -->\n"])
def test_a_page_without_the_place_is_named_and_stays(tmp_path, text):
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(InputError, match=r"page\.md: expected the lines `<!-- begin -->` and `<!-- end -->`"):
        PLACE.write(page, "new")
    assert page.read_text() == text
