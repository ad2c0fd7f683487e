"""Reports of a budget's choice to ReFrame and to the record."""

import re

from kappa.app.conduct.planning import reframe_options
from reports.plan.budget import Choice, Selection


def choice(check, why=""):
    return Choice(check, "storage/ior", 1.0, 0, None, why)


def test_what_is_left_out_is_excluded_by_its_whole_name_and_recorded():
    chosen = Selection(2.5, (choice("PairSweep", "it is due"), choice("Hpl"), choice("IorEasy")))
    exclude, extras = reframe_options(chosen)
    pattern = exclude.removeprefix("--exclude=")
    names = ["Hpl%scale=one_node", "Hpl", "HplScaling%scale=two_nodes", "Hpl_2", "IorEasy%target=shared", "PairSweep"]
    assert [name for name in names if re.search(pattern, name)] == [
        "Hpl%scale=one_node",
        "Hpl",
        "IorEasy%target=shared",
    ]
    assert extras == "--session-extras=budget=2.5,left_out=Hpl:IorEasy"


def test_with_room_for_all_nothing_is_excluded():
    assert reframe_options(Selection(50, (choice("Hpl", "there is room"),))) == ["--session-extras=budget=50,left_out="]
