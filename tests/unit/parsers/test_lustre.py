"""Output of ``lfs getstripe --directory``."""

import pytest

from reframe_checks.parsers.lustre import StripeLayout, layout
from reframe_checks.parsers.text import ParseError
from tests.unit.conftest import DATA


@pytest.mark.parametrize(
    ("name", "expected"), [("folder", StripeLayout(4, 4 << 20)), ("all_targets", StripeLayout(-1, 1 << 20))]
)
def test_layout(name, expected):
    assert layout((DATA / f"lustre/composed_{name}.txt").read_text()) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("stripe_size: 1048576\n", "stripe_count"),
        ("stripe_count: 4 stripe_size: 1M\n", "stripe_size as a whole number"),
        ("stripe_count: 0 stripe_size: 1048576\n", "other than 0"),
        ("stripe_count: 1 stripe_size: 1\nstripe_count: 2 stripe_size: 1\n", "stripe_count once"),
        ("stripe_count: (Default) stripe_size: 1\n", "stripe_count as a whole number"),
        ((DATA / "lustre/composed_composite.txt").read_text(), "a plain layout"),
    ],
)
def test_what_is_no_plain_layout(text, expected):
    with pytest.raises(ParseError, match=expected):
        layout(text)
