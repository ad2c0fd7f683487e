"""A benchmark with rules: an invalid result fails, except in a check that declares itself a short form."""

import pytest
from reframe.core.exceptions import SanityError

from reframe_checks.base.measure import Rated
from tests.stand_in import StandIn

SAID = "not a valid result by HPCG's rules: 60 s of 1800 s"


def judged(broken, must_be_valid):
    check = StandIn(Rated, rules="HPCG's rules", must_be_valid=must_be_valid)
    check.judge_by_rules(broken)
    return check.validity


def test_a_result_that_keeps_the_rules_is_valid():
    assert judged([], True) == judged([], False) == "valid by HPCG's rules"


def test_one_that_does_not_fails():
    with pytest.raises(SanityError, match=SAID):
        judged(["60 s of 1800 s"], True)


def test_a_short_form_says_what_it_lacks():
    assert judged(["60 s of 1800 s"], False) == SAID
