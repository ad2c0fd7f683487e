"""Nodes with odd facts: one that differs is named, none if the majority is unclear; and a site's stated facts."""

import pytest

from kappa.core.vocabulary.node_facts import Bound
from reframe_checks.node.odd_nodes import figures, oddities

SOUND = {"identity.slurm_name": "n", "identity.host_name": "n", "slurm.cpus": 2, "cpu.count": 2}


def odd(name, *values, expected=None):
    """(nodes, text) of each oddity where node n1, n2, … tell these values of one fact."""
    facts = {f"n{number}": {**SOUND, name: value} for number, value in enumerate(values, start=1)}
    return [(found.nodes, str(found)) for found in oddities(facts, {} if expected is None else {name: expected})]


@pytest.mark.parametrize(
    ("name", "values", "nodes"),
    [
        ("net.eth0.mtu", (9000, 9000, 1280), [("n3",)]),
        ("net.eth0.mtu", (9000, 9000, None), [("n3",)]),
        ("net.eth0.mtu", (9000, 1280), [()]),
        ("net.eth0.mtu", (9000, 1280, 9000, 1500), [("n2",), ("n4",)]),
        ("file./usr/lib/libmpi.so", (None, None), [("n1", "n2")]),
        ("file./usr/lib/libmpi.so", ("aa", "aa", "bb"), [("n3",)]),
        ("mount./scratch.writable", (True, False, True), [("n2",)]),
        ("mount./scratch.size_bytes", (1000, 1001, 500), [("n3",)]),
        ("mount./scratch.answers", (True, True, False), [("n3",)]),
        ("mount./scratch.point", ("/scratch", "/", "/scratch"), [("n2",)]),
        ("network_mount./home", ("nfs4 nas#:/home rw", None, "nfs4 nas#:/home rw"), [("n2",)]),
        ("network_mount./data", (None, None, "nfs4 nas#:/data rw"), [("n3",)]),
        ("memory.total_kib", (100, 99, 101), []),
        ("memory.total_kib", (64, 32), [()]),
        ("memory.total_kib", (1, 1, 2, 2), [()]),
        ("memory.total_kib", (1, 2, 2, None), [("n1",)]),
        ("memory.total_kib", (64,), []),
        ("memory.available_kib", (100, 90, 40), [("n3",)]),
        ("left.shared_memory_files_mib", (0, 300, 0), [("n2",)]),
        ("left.shared_memory", ([], ["1.0 MiB of eve"], []), [("n2",)]),
        ("left.large_process.python3_mib", (None, 1500, None), [("n2",)]),
        ("left.large_process.mmfsd_mib", (4000, 4100, None), []),
        ("left.outside_jobs.eve", (None, ["vim (7)"], None), [("n2",)]),
        ("left.outside_jobs.monitor", (["agent (7)"], ["agent (9)"], ["agent (8)"]), []),
        ("left.zombies", (0, 3, 200), [("n3",)]),
        ("left.zombies", (50, 60, 200), []),
        ("identity.boot_id", ("a", "b", "a"), [("n1", "n3")]),
        ("memory.of_nobody_kib", (1, 2, 10**9), [("n3",)]),
        # 1 GiB is granted, and what all have, also where one has a bit more.
        ("memory.of_nobody_kib", (1, 2, 10**6), []),
        ("memory.of_nobody_kib", (10**8, 10**8, 10**9), []),
        ("left.temporary_files_mib", (10, 20, 2000), [("n3",)]),
        ("left.temporary_files_mib", (10, 20, 1000, None), []),
        ("identity.machine_id", ("a", "b", "a", "c"), [("n1", "n3")]),
        ("identity.machine_id", ("a", "a", "b"), [()]),
        ("identity.machine_id", ("a", "a"), []),
        ("identity.machine_id", ("a", "b"), []),
        ("identity.machine_id", (None, None, "a"), []),
        ("kernel.options", ("quiet", "quiet", "quiet mitigations=off"), [("n3",)]),
        ("left.temporary_free_share", (0.9, 0.9, 0.3), []),
        ("left.temporary_free_share", (0.9, 0.04, 0.9), [("n2",)]),
        ("left.temporary_free_share", (0.02, 0.03, 0.04), []),
        ("mount./scratch.free_inode_share", (1.0, 1.0, 0.0), [("n3",)]),
        ("mount./scratch.free_inode_share", (None, None, None), []),
        ("mount./scratch.permissions", ("drwxrwxrwt 0:0", "drwx------ 0:0", "drwxrwxrwt 0:0"), [("n2",)]),
        ("left.busy_process.python3_cores", (None, 0.98, None), [("n2",)]),
        ("left.busy_process.mmfsd_cores", (0.3, 0.4, None), []),
        ("tcp.tcp_congestion_control", ("cubic", "reno", "cubic"), [("n2",)]),
        ("way.n1", (None, "Invalid argument", None), [("n2",)]),
        ("taken.n1", (None, "10.0.0.1", None), [("n2",)]),
        ("conntrack.free_share", (0.9, 0.01, 1.0), [("n2",)]),
        # A cold cache is no fault.
        ("lookup.median_ms", (1, 900, 2), []),
        ("lookup.median_ms", (1, 2000, 2), [("n2",)]),
        ("failed.links", (None, "OSError: gone", None), [("n2",)]),
    ],
)
def test_by_the_other_nodes(name, values, nodes):
    found = odd(name, *values)
    assert [named for named, _ in found] == nodes
    assert all(name in text for _, text in found)


def test_a_tie_says_who_has_what_and_names_nobody():
    ((nodes, text),) = odd("net.eth0.mtu", 9000, 1280, 9000, 1280)
    assert (nodes, text) == ((), "net.eth0.mtu differs: 9000 on n1, n3; 1280 on n2, n4")


def test_numbers_in_a_tie_name_nobody():
    ((nodes, text),) = odd("memory.total_kib", 64, 32, 32, 64)
    assert (nodes, text) == ((), "memory.total_kib differs: from 32 on n2 to 64 on n4")


@pytest.mark.parametrize(
    ("expected", "nodes"),
    [
        (9000, ["n2"]),
        (1280, ["n1", "n3"]),
        (Bound(at_least=1500), ["n2"]),
        (Bound(at_most=1500), ["n1", "n3"]),
        (1, ["n1", "n3", "n2"]),
    ],
)
def test_by_what_the_site_expects(expected, nodes):
    found = odd("net.eth0.mtu", 9000, 1280, 9000, expected=expected)
    assert [node for named, _ in found for node in named] == nodes
    assert all("the site expects" in text for _, text in found)


def test_what_the_site_expects_and_no_node_tells_is_odd_on_all():
    facts = {"n1": SOUND, "n2": SOUND}
    (found,) = oddities(facts, {"ib.mlx5_0.1.rate": "100 Gb/sec (4X EDR)"})
    assert found.nodes == ("n1", "n2")


@pytest.mark.parametrize(
    ("told", "text"),
    [
        ({"identity.host_name": "m"}, "n1: its host name is 'm', its name in Slurm 'n'"),
        ({"slurm.cpus": 4}, "n1: Slurm states 4 CPUs, the machine has 2"),
        ({"slurm.memory_mib": 5, "memory.total_kib": 4096}, "n1: Slurm states 5 MiB, the machine has 4"),
        (
            {"limit.promised_memory_mib": 5, "limit.group_memory_mib": 4},
            "n1: Slurm gave the job 5 MiB, its control group has 4 MiB",
        ),
    ],
)
def test_by_what_slurm_believes(told, text):
    assert [str(found) for found in oddities({"n1": {**SOUND, **told}}, {})] == [text]


def test_a_node_may_know_itself_by_another_address():
    facts = {
        "n1": {**SOUND, "host.n2": "10.0.0.2", "host.n3": "10.0.0.3"},
        "n2": {**SOUND, "host.n1": "10.0.0.1", "host.n3": "10.0.0.3"},
        "n3": {**SOUND, "host.n1": "10.0.0.1", "host.n2": None},
        "n4": {**SOUND, "host.n1": "10.0.0.1", "host.n2": "10.0.0.2", "host.n3": "10.0.0.3"},
    }
    assert [(found.name, found.nodes) for found in oddities(facts, {})] == [("host.n2", ("n3",))]


@pytest.mark.parametrize(
    ("told", "nodes"),
    [
        (("number 5", "number 5", "number 4005"), [("n3",)]),
        (("number 5", "number 5", None), [("n3",)]),
        # Either may be the wrong one.
        ((None, None, None), [()]),
        (("number 5", "number 5", "number 5"), []),
    ],
)
def test_as_on_the_login_node(told, nodes):
    facts = {f"n{number}": {**SOUND, "account.a": value} for number, value in enumerate(told, start=1)}
    found = list(oddities(facts, {}, {"account.a": "number 5"}))
    assert [odd.nodes for odd in found] == nodes
    assert all("on the login node 'number 5'" in str(odd) for odd in found)


def test_a_file_that_only_two_nodes_read():
    facts = {"n1": {"shared_content./a": "1"}, "n2": {"shared_content./a": "1"}, "n3": {}, "n4": {}}
    assert list(oddities(facts, {})) == []
    facts["n2"] = {"shared_content./a": "2"}
    assert [odd.nodes for odd in oddities(facts, {})] == [()]


def test_what_all_nodes_share_is_mounted_from_one_place():
    facts = {f"n{number}": {**SOUND, "mount./shared.source": "a:/x"} for number in range(1, 4)}
    facts["n2"]["mount./shared.source"] = "b:/x"
    assert list(oddities(facts, {})) == []
    assert [odd.nodes for odd in oddities(facts, {}, shared=["/shared"])] == [("n2",)]


def test_what_all_nodes_share_is_on_no_root_disk():
    def lost(*points, **stated):
        facts = {f"n{number}": {**SOUND, "mount./shared/a.point": at} for number, at in enumerate(points, start=1)}
        return [odd.nodes for odd in oddities(facts, stated.get("stated", {}), shared=["/shared/a"])]

    assert lost("/shared", "/shared", "/shared") == []
    assert lost("/shared", "/", "/shared") == [("n2",)]
    assert lost("/", "/") == [("n1", "n2")]
    assert lost("/", "/", stated={"mount./shared/a.point": "/"}) == []


def test_figures_that_every_node_tells():
    facts = {
        "n1": {"power.cores_throttled": 0, "power.package_w": 7, "cpu.count": 2, "mount./a.free_bytes": 5},
        "n2": {"power.cores_throttled": 9, "power.package_w": None, "cpu.count": 2, "mount./a.free_bytes": 6},
    }
    assert list(figures(facts)) == [
        ("power.cores_throttled", "", {"n1": 0, "n2": 9}),
        ("mount./a.free_bytes", "bytes", {"n1": 5, "n2": 6}),
    ]


@pytest.mark.parametrize("values", [(None, None, "nfs4"), ("nfs4", None, "nfs4"), ("nfs4", None)])
def test_a_fact_that_a_node_lacks_is_none_and_not_a_word_of_python(values):
    [(_, text)] = odd("network_mount./data", *values)
    assert "none" in text and "None" not in text
