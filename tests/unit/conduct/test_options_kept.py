"""Options that still apply to a re-measurement, in each spelling that ReFrame permits."""

import pytest

from kappa.app.conduct.session import OptionsKept
from kappa.core.record.model import OTHER_NODES, SAME_NODES


@pytest.mark.parametrize("given", [("-S", "A.a=1"), ("-SA.a=1",), ("--setvar=A.a=1",), ("--setvar", "A.a=1")])
def test_variables(given):
    assert OptionsKept.of(["-n", "Osu", *given]) == OptionsKept(("-S", "A.a=1"), ())


@pytest.mark.parametrize("form", ["-J|{}", "-J{}", "--job-option={}", "--job-option|{}"])
def test_options_of_jobs_but_for_their_nodes(form):
    values = ("account=a b", "w=n1", "x=n8,n9", "nodelist=n2")
    kept = OptionsKept.of([word for value in values for word in form.format(value).split("|")])
    assert kept == OptionsKept(("-J", "account=a b"), ("n8,n9",))
    wait, again = ["-S", "quiet_wait_s=20"], ["-S", "hold_s=0"]
    assert kept.for_nodes(SAME_NODES, ["n1"]) == [*wait, "-J", "account=a b", "-J", "nodelist=n1", *again]
    assert kept.for_nodes(OTHER_NODES, ["n1", "n2"])[4:6] == ["-J", "exclude=n1,n2,n8,n9"]


def test_an_option_without_its_value():
    assert OptionsKept.of(["-S"]) == OptionsKept(("-S", ""), ())
