"""ReFrame's options of a mode select the cases in the mode's table."""

import re

import pytest

from kappa.core.vocabulary.checks import catalogue
from kappa.core.vocabulary.modes import FULL, MODES, modes_here, reframe_modes

CASES = [(name, check, case) for name, check in catalogue().items() for case in check.cases]


def selected(options, name, tags, parameters):
    """As ReFrame does: by tag, and by regular expressions of the name without its blanks."""
    given = dict(option.split("=", 1) for option in options)
    shown = name + "".join(f"%{key}={value}" for key, value in parameters.items())
    return (
        ("--tag" not in given or any(re.match(given["--tag"], tag) for tag in tags))
        and bool(re.search(given.get("--name", ""), shown))
        and not re.search(given.get("--exclude", "(?!)"), shown)
    )


@pytest.mark.parametrize("mode", MODES)
def test_reframe_selects_what_the_table_says(mode):
    [options] = [one["options"] for one in reframe_modes() if one["name"] == mode]
    taken = [MODES[mode].takes(name, check.modes, case.parameters) for name, check, case in CASES]
    assert taken == [selected(options, name, check.modes, case.parameters) for name, check, case in CASES]
    assert any(taken)
    assert mode == FULL or not all(taken)
    assert options[-1] == f"--session-extras=mode={mode}"


@pytest.mark.parametrize("mode", MODES)
def test_every_check_that_the_table_names_is_one(mode):
    for name in [*MODES[mode].without, *(one.check for one in MODES[mode].only)]:
        assert name in catalogue()
    for one in MODES[mode].only:
        assert any(one.parameters.items() <= case.parameters.items() for case in catalogue()[one.check].cases)


def test_a_name_that_begins_like_another_is_another():
    options = MODES["links"].reframe_options
    assert selected(options, "NodeLinks", [], {"scale": "each_node"})
    assert not selected(options, "NodeLinksLong", [], {})
    assert selected(options, "OsuLatency", [], {"buffers": "D_D", "placement": "same_node", "transport": "x"})
    assert not selected(options, "OsuLatency", [], {"placement": "same_node_twice"})
    assert not selected(options, "OsuLatency", [], {"placement": "two_nodes"})


def test_a_site_adds_checks_to_a_mode_and_leaves_some_to_others():
    also, without = [{"smoke": ["A"]}, {}], [{"nightly": ["A", "B"]}]
    assert modes_here("A", ["nightly"], also, without) == {"smoke", FULL}
    assert modes_here("B", ["nightly", "smoke"], also, without) == {"smoke", FULL}
    assert modes_here("C", [], also, without) == {FULL}
    # A check cannot leave the mode of everything.
    assert FULL in modes_here("A", [], [], [{FULL: ["A"]}])
