"""Expansion of lists of nodes, which is bounded before it takes memory."""

import subprocess
import sys
import tracemalloc

import pytest

from kappa.core.ground.folders import SUITE
from kappa.core.ground.node_lists import MAX_NODES, expand_nodes

ROOM = 2 << 30
EXPANSIONS = {
    "expand_nodes": "from kappa.core.ground.node_lists import expand_nodes as expand",
    "unfolded": "from kappa.core.ground.node_lists import unfolded; expand = lambda text: unfolded(text, 1000)",
    "survey": "from kappa.app.survey.records import node_names; expand = lambda text: node_names(text, 'scontrol')",
    "outage terms": "from reports.acceptance.outages.terms import OutageTerms\n"
    "expand = lambda text: OutageTerms(nodes=text, least_nodes=1)",
    "a node": "import os; from kappa.node.facts import names\n"
    "def expand(text):\n    os.environ['SLURM_JOB_NODELIST'] = text\n"
    "    assert len(names.nodes_of_job()) <= 200_000; raise ValueError",
}


@pytest.mark.parametrize("expansion", EXPANSIONS)
@pytest.mark.parametrize(
    "text", ["a[1-999999999]", "a[1-99999]b[1-99999]", ",".join(["a[1-99]b[1-99]c[1-99]"] * 9), "a[1-9]" + "[1-9]" * 9]
)
def test_a_list_of_too_many_nodes_is_refused_in_bounded_memory(text, expansion):
    tried = (
        f"import resource\n{EXPANSIONS[expansion]}\nresource.setrlimit(resource.RLIMIT_AS, ({ROOM}, {ROOM}))\n"
        f"try:\n    expand({text!r})\nexcept (ValueError, getattr(__import__('kappa.core.ground.errors', "
        "fromlist=['x']), 'InputError')):\n    print('refused')"
    )
    done = subprocess.run(
        [sys.executable, "-c", tried], capture_output=True, text=True, timeout=120, check=False, cwd=SUITE
    )
    assert (done.stdout, done.returncode) == ("refused\n", 0), done.stderr[-500:]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("node1", ["node1"]),
        ("node[1-3,7]", ["node1", "node2", "node3", "node7"]),
        ("b2,a[1-2],b2", ["b2", "a1", "a2"]),
        ("n[08-11]", ["n08", "n09", "n10", "n11"]),
        ("r[1-2]n[1-2]-ib", ["r1n1-ib", "r1n2-ib", "r2n1-ib", "r2n2-ib"]),
        ("10.140.71.[9-10]", ["10.140.71.9", "10.140.71.10"]),
    ],
)
def test_what_slurm_writes(text, names):
    assert expand_nodes(text) == names


@pytest.mark.parametrize(
    "text",
    [
        "", ",", "n1,", ",n1", "n1,,n2", "n 1", "n[1-", "n[1-2", "n]", "n[]", "n[1,,2]", "n[3-1]", "n[-1]", "n[1-2-3]",
        "n[1-[2-3]]", "n[[1-2]]", "n[a-b]", "n[01-1]", "@all", "n[1-9]!n3", "n[1-9]&n3", "n*", "n[1-9/2]", "n1\n",
    ],
)  # fmt: skip
def test_what_it_does_not(text):
    with pytest.raises(ValueError, match="a list of nodes, for instance"):
        expand_nodes(text)


@pytest.mark.parametrize(
    "text",
    [
        "node[1-999999999]",
        f"node[1-{MAX_NODES + 1}]",
        "n[1-99999999]x[3-1]",
        "n[0-9999]x[0-9999]",
        ",".join(["n[1-50000]"] * 5),
        "n[1-999999999999999]",
    ],
)
def test_a_list_too_long_is_refused_before_it_is_expanded(text):
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="a list of at most 200,000 nodes"):
            expand_nodes(text)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("text", ["n[1-" + "9" * 30 + "]", "n[" + "9" * 5000 + "]"])
def test_a_number_too_long_is_refused(text):
    with pytest.raises(ValueError, match="a list of nodes"):
        expand_nodes(text)


@pytest.mark.parametrize("text", ["n" * 256, "1a" * 50_000, "n[1]" * 30_000, "a[1]b[1]c[1]d[1]e[1]"])
def test_a_name_too_long_or_of_too_many_ranges_is_refused(text):
    with pytest.raises(ValueError, match="names of at most 255 characters and 4 ranges"):
        expand_nodes(text)


def test_many_names_with_several_numbers_are_not_folded():
    names = [f"a{number % 97}b{number % 89}c{number}" for number in range(4000)]
    assert expand_nodes(",".join(names)) == names
