"""mdtest on several nodes must run so that no rank reads items that its own node holds in memory."""

import re

import pytest
from reframe.core.exceptions import SanityError

from reframe_checks.storage.mdtest import FOLDERS, Mdtest
from tests.stand_in import StandIn


def judged(files, folders, nodes):
    """Return the check's message about two ranks' output."""
    text = {None: files, FOLDERS: folders}
    check = StandIn(
        Mdtest, num_tasks=2, num_tasks_per_node=2 // nodes, num_nodes_used=nodes, iterations=3, stonewall_s=10,
        output_text=lambda name=None: text[name], items_of_a_rank=lambda: 200,
    )  # fmt: skip
    return check.read_rates().evaluate()


def of_200_files_a_rank(text):
    """Return the recorded run with fewer files, some of them left out by a stonewall."""
    text = text.replace("100000 files", "400 files")
    return re.sub(r"hit min: \d+ max: \d+ avg: [\d.]+", "hit min: 180 max: 200 avg: 190.0", text)


def test_the_option_against_memory_is_demanded_of_several_nodes(recorded):
    files = of_200_files_a_rank(recorded("mdtest/files_stonewall.txt").replace("'-W' '1'", "'-W' '10'"))
    files = files.replace("(of 2 iterations)", "(of 3 iterations)")
    folders = recorded("mdtest/folders_only.txt")
    assert judged(files, folders, nodes=1)
    told = [text.replace(" '-d' ", " '-N' '1' '-d' ") for text in (files, folders)]
    assert judged(*told, nodes=2)
    for some in ((files, folders), (told[0], folders), (files, told[1])):
        with pytest.raises(SanityError, match="mdtest ran without -N 1: caches may have answered"):
            judged(*some, nodes=2)


def test_files_made_without_a_stonewall_are_refused(recorded):
    files = of_200_files_a_rank(recorded("mdtest/files_stonewall.txt"))
    files = files.replace("(of 2 iterations)", "(of 3 iterations)")
    with pytest.raises(SanityError, match="without a stonewall of 10 s"):
        judged(files, recorded("mdtest/folders_only.txt"), nodes=1)
