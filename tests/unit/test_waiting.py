import pytest

from tests.waiting import until


def test_what_the_condition_found_is_returned_when_it_is_true():
    looks = iter([0, "", [], "here"])
    assert until(lambda: next(looks), "it is here", poll_s=0) == "here"


def test_in_vain_it_says_for_what_and_what_it_saw_last():
    with pytest.raises(AssertionError, match=r"waited 0 s in vain until the job has ended; seen last: \[\]"):
        until(list, "the job has ended", timeout_s=0)
