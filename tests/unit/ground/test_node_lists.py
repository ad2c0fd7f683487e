"""Lists of nodes, which every version of Slurm reads as written. Expansion is bounded before it takes memory."""

import re
import shutil
import subprocess
import sys
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kappa.core.ground.folders import SUITE
from kappa.core.ground.node_lists import MAX_NODES, expand_nodes, folded

ROOM = 2 << 30
EXPANSIONS = {
    "expand_nodes": "from kappa.core.ground.node_lists import expand_nodes as expand",
    "survey": "from kappa.app.survey.records import node_names; expand = lambda text: node_names(text, 'scontrol')",
    "outage terms": "from reports.acceptance.outages.terms import OutageTerms\n"
    "expand = lambda text: OutageTerms(nodes=text, least_nodes=1)",
    "a node": "import os; from kappa.node.facts import names\n"
    "def expand(text):\n    os.environ['SLURM_JOB_NODELIST'] = text\n"
    "    assert len(names.nodes_of_job()) <= 200_000; raise ValueError",
}
RACKS = [f"rack{rack:02}-{number:02}" for rack in range(1, 15) for number in range(1, 17)]
FOLDED = [
    ([], ""),
    (["node1"], "node1"),
    (["node7", "node3", "node1", "node2"], "node[1-3,7]"),
    (["n08", "n09", "n10", "n11", "login"], "login,n[08-11]"),
    (["n9", "n10", "n09", "n99", "n100"], "n[9,09-10,99-100]"),
    (RACKS, "rack[01-14]-[01-16]"),
    (RACKS[:-1], "rack[01-13]-[01-16],rack14-[01-15]"),
    # Field case 33: Slurm before 23.11 reads no text after the last bracket.
    ([f"node{number}-l40" for number in range(40, 44)], "node[40-43]-l[40]"),
    (["n1.de", "n2.de", "r1n2-ib", "r1n3-ib"], "n1.de,n2.de,r1n2-ib,r1n3-ib"),
    (["10.140.71.9", "10.140.71.10"], "10.140.71.[9-10]"),
    (["x3000c0s1b0n0", "x3000c0s1b0n1", "x3000c0s2b0n0", "x3000c0s2b0n1"], "x3000c0s[1-2]b0n[0-1]"),
    (["1", "2"], "[1-2]"),
    (["n1", "two words", "n2", "@all"], "n[1-2],@all,two words"),
]
numbers = st.one_of(st.integers(0, 12).map(str), st.integers(0, 120).map("{:03}".format), st.just("9" * 16))
host_names = st.lists(st.one_of(st.sampled_from(["n", "a-b", ".de", "-", "_x"]), numbers), min_size=1, max_size=5)


@pytest.mark.parametrize(("names", "text"), FOLDED)
def test_a_list_is_written(names, text):
    assert folded(names) == text


@given(st.sets(host_names.map("".join), max_size=40))
def test_what_is_written_is_read_and_ends_in_a_bracket(names):
    text = folded(names)
    assert (sorted(expand_nodes(text)) if text else []) == sorted(names)
    items = re.findall(r"(?:[^,\[]|\[[^]]*\])+", text)
    assert all("[" not in item or item.endswith("]") for item in items)


@pytest.fixture(scope="module")
def hostnames(tmp_path_factory):
    """Return the names that Slurm reads in a list."""
    scontrol = shutil.which("scontrol")
    if not scontrol:
        pytest.skip("no Slurm")
    conf = tmp_path_factory.mktemp("slurm") / "slurm.conf"
    conf.write_text("ClusterName=c\nSlurmctldHost=localhost\nNodeName=n1\nPartitionName=p Nodes=n1\n")

    def read(text):
        command = [scontrol, "show", "hostnames", text]
        return subprocess.run(
            command, env={"SLURM_CONF": str(conf)}, capture_output=True, text=True, check=True
        ).stdout.split()

    return read


@pytest.mark.parametrize("names", [names for names, _ in FOLDED[1:-1]])
def test_slurm_reads_what_is_written(names, hostnames):
    assert sorted(hostnames(folded(names))) == sorted(names)


@pytest.mark.parametrize("text", ["n[08-11],m", "n[08-100]", "r[1-2]n[8,09-11]", "rack[01-14]-[01-16]", "n[9,09-10]"])
def test_a_list_is_read_as_slurm_reads_it(text, hostnames):
    assert expand_nodes(text) == hostnames(text)


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
        "n[1-0003]", "n[1-[2-3]]", "n[[1-2]]", "n[a-b]", "n[01-1]", "@all", "n[1-9]!n3", "n[1-9]&n3", "n*", "n[1-9/2]",
        "n1\n",
    ],
)  # fmt: skip
def test_what_it_does_not(text):
    with pytest.raises(ValueError, match="expected a list of 1 to 100,000 nodes"):
        expand_nodes(text)


@pytest.mark.parametrize(
    "text",
    [
        "node[1-999999999]",
        f"node[1-{MAX_NODES + 1}]",
        "n[1-99999999]x[3-1]",
        "n[0-9999]x[0-9999]",
        ",".join(["n[1-50000]"] * 3),
        "n," * MAX_NODES + "n",
        "n[1-999999999999999]",
    ],
)
def test_a_list_too_long_is_refused_before_it_is_expanded(text):
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="expected a list of 1 to 100,000 nodes"):
            expand_nodes(text)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "text",
    ["n[1-" + "9" * 30 + "]", "n[" + "9" * 5000 + "]", "n" * 256, "1a" * 50_000, "n[1]" * 30_000, "n" * 255 + "[1-2]"],
)
def test_a_number_or_a_name_too_long_is_refused(text):
    with pytest.raises(ValueError, match="expected a list of 1 to 100,000 nodes"):
        expand_nodes(text)


@pytest.mark.parametrize(("text", "number"), [("rack[01-14]-[01-16]", 224), (f"n[1-{MAX_NODES}]", MAX_NODES)])
def test_a_long_list_is_read(text, number):
    assert len(set(expand_nodes(text))) == number


def test_many_names_with_several_numbers_are_not_folded():
    names = [f"a{number % 97}b{number % 89}c{number}" for number in range(4000)]
    assert expand_nodes(",".join(names)) == names
