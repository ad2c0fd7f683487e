"""Every expansion of a list of nodes is bounded before it takes memory."""

import subprocess
import sys

import pytest

from kappa.core.ground.folders import SUITE

ROOM = 2 << 30
EXPANSIONS = {
    "expand_nodes": "from kappa.core.ground.node_lists import expand_nodes as expand",
    "unfolded": "from kappa.core.ground.node_lists import unfolded; expand = lambda text: unfolded(text, 1000)",
    "survey": "from kappa.app.survey.records import node_names; expand = lambda text: node_names(text, 'scontrol')",
    "outage terms": "from kappa.core.sites.outage_clauses import MOST_NODES\n"
    "from kappa.core.ground.node_lists import unfolded; expand = lambda text: unfolded(text, MOST_NODES)",
    "a node": "import os, sys; sys.path.insert(0, 'reframe_checks/node/src/node_facts'); import names\n"
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
