"""Records of strangers' clusters, as published: each read rightly, and others of its kind."""

import shlex
import subprocess

import pytest

from kappa.app.survey.kinds import kinds, parts, shares_cores
from kappa.app.survey.probe import parse, question
from kappa.app.survey.records import SurveyError
from kappa.app.survey.slurm import Caller, parse_nodes, parse_partitions, parse_qos
from kappa.core.ground.errors import InputError
from kappa.node.facts import folders
from reframe_checks.parsers import slurm
from reports.acceptance.outages.terms import OutageTerms
from tests.unit.survey.clusters import (
    Cluster,
    files_of,
    gpu,
    node,
    one_node,
    partition,
    probe,
    scales_left_out,
    site_in,
    surveyed,
)
from tests.unit.survey.national_centre import FIELD, PARTITIONS_TEXT, nodes_text


def field(name):
    return (FIELD / name).read_text()


def made_of(cluster, tmp_path, access=()):
    """Return the findings for a cluster, its site as loaded, and the features left out: partition -> features."""
    found = surveyed(cluster, access=access)
    made = site_in(tmp_path / "site_configs", found)
    return found, made.description.described.partitions, scales_left_out(files_of(found))


class Untold(Cluster):
    """No job runs there: what stands in the site is Slurm's."""

    def __init__(self, nodes, partitions, topology=None):
        super().__init__(nodes, partitions, topology=topology)
        self.asked = {}

    def probed(self, part):
        self.asked[part.name] = [one.name for one in part.to_probe(2)]
        return super().probed(part._replace(nodes=()))


def test_a_node_that_the_cloud_has_powered_down_takes_jobs_and_is_in_service():
    [one] = parse_nodes(field("16-scontrol-node-powered-down.txt"))
    now = one.condition
    assert now.takes_jobs and not now.idle and now.in_service and now.can_be_woken
    assert [tuple(gres) for gres in one.gres] == [("gpu", "rtxproserver6000", 8)]


ONE, TWO, ALL, EACH = "scale_one_node", "scale_two_nodes", "scale_whole_partition", "scale_each_node"
SCALES = {ONE, TWO, ALL, EACH}
RESERVED = field("18-scontrol-node-corespec.txt")
OLD, OLDER = field("21-scontrol-node-old.txt").splitlines()


def test_partitions_with_the_same_nodes_and_a_qos_that_may_have_limits():
    part = surveyed(Untold(nodes_text(), PARTITIONS_TEXT)).parts["large-type_m"]
    assert part.limits == {"QoS": "accrue_large"}
    assert [one.partition(":")[0] for one in part.others] == ["small", "longrun"]


@pytest.mark.parametrize(
    ("text", "cores", "memory_mib"),
    [
        (RESERVED, 104, 1900000),
        # Before 22.05, without CPUEfctv.
        (RESERVED.replace("CPUEfctv=104 ", ""), 104, 1900000),
        (RESERVED.replace("CoreSpecCount=8 CPUSpecList=52-55,108-111 ", ""), 104, 1900000),
        # 17.11: one line for each of two nodes, the second with two cores and 1 GiB kept.
        (OLD, 24, 64000),
        (OLDER, 34, 771413),
        # SMT: four CPUs are two cores.
        (node("n1", cores=64, threads=2).replace("CPUEfctv=1 CPUTot=1 ", "CPUEfctv=252 CPUTot=256 "), 126, 257000),
        # SMT that slurm.conf hides: CPUs are cores.
        (node("n1", cores=64, threads=2).replace("CPUEfctv=1 CPUTot=1 ", "CPUEfctv=124 CPUTot=128 "), 124, 257000),
        (node("n1"), 64, 257000),
    ],
)  # fmt: skip
def test_cores_and_memory_that_jobs_can_have(text, cores, memory_mib):
    [one] = parse_nodes(text)
    assert (one.cores_for_jobs, one.memory_for_jobs_mib) == (cores, memory_mib)


def test_a_site_has_the_cores_that_jobs_get_by_slurm_and_by_probe(tmp_path):
    text = RESERVED
    _, made, _ = made_of(Untold(text, partition("dev", "gpu01")), tmp_path)
    assert (made["dev"].cores.per_node, made["dev"].cores.sockets) == (104, 2)
    found, made, _ = made_of(Cluster(text, partition("dev", "gpu01"), {"dev": probe("NAME", cores=56)}), tmp_path)
    shape = made["dev"].processor
    assert (found.parts["dev"].told.cores, shape.num_cpus, shape.num_cpus_per_socket) == (104, 104, 52)
    assert not any(int(mask, 16) & (0b1111 << 52 | 0b1111 << 108) for mask in shape.topology.cores)


def test_nodes_of_old_versions():
    old, older = parse_nodes(field("21-scontrol-node-old.txt"))
    assert (old.features, old.gres, old.partitions, old.condition.takes_jobs) == ((), (), (), True)
    assert ([tuple(one) for one in older.gres], older.condition.takes_jobs) == ([("gpu", "", 8)], False)
    assert older.reason == "node-switch [user@2018-11-23T12:49:03]"
    [named] = parse_nodes(OLD.replace("Features=(null)", "Features=ib,big"))
    assert named.features == ("ib", "big")


def test_a_record_goes_on_below_a_blank_line():
    """As scontrol writes above a reason where no power is measured."""
    text = f"{node('n1')}\n   \n   Reason=moved, rack=4 [root@2026-03-11T11:05:51]\n   Comment=a\n\n"
    one, other = parse_nodes(f"{text}{node('n2')}")
    assert (one.name, one.reason, other.name) == ("n1", "moved, rack=4 [root@2026-03-11T11:05:51]", "n2")


def test_leaves_of_blocks_and_of_a_tree():
    leaves = slurm.leaf_switches(field("23-topology-block.txt"))
    assert (len(leaves), leaves["g3-129-059"], leaves["g3-130-018"]) == (21, "b1", "b2")
    tree = slurm.leaf_switches("SwitchName=s0 Switches=s[1-2]\nSwitchName=s1 Nodes=n[1-2]\nSwitchName=s2 Nodes=n3\n")
    assert tree == {"n1": "s1", "n2": "s1", "n3": "s2"}


def test_states_of_sinfo_with_signs():
    nodes = {one.name: one for one in slurm.node_states(field("24-sinfo-states.txt"))}
    assert {name: (one.state, one.usable) for name, one in nodes.items()} == {
        "gpu-dy-1": ("idle", True),
        "n2": ("mixed", True),
        "n3": ("allocated", True),
        "n4": ("down", False),
        "n5": ("reboot", False),
        "n6": ("drained", False),
        "n7": ("completing", True),
        "n8": ("cancel_reboot", True),
    }
    assert nodes["n6"].reason == "nhc: a|b"


def four(name, default="NO", **more):
    return partition(name, "n[1-4]", Default=default, **more)


@pytest.mark.parametrize(
    ("setting", "shown", "shares"),
    [
        ("FORCE:1", None, False),
        ("YES:1", None, False),
        ("NO", None, False),
        ("EXCLUSIVE", "EXCLUSIVE", False),
        ("YES:4", "YES:4", False),
        ("FORCE", "FORCE", True),
        ("FORCE:2", "FORCE:2", True),
        ("FORCE:10", "FORCE:10", True),
    ],
)
@pytest.mark.parametrize("key", ["OverSubscribe", "Shared"])
def test_a_partition_shares_cores_with_more_than_one_job_on_each(key, setting, shown, shares):
    text = field("27-partition-force-1.txt").replace("OverSubscribe=FORCE:1", f"{key}={setting}")
    [part] = parse_partitions(text)
    assert (part.settings.get(key), shares_cores(part)) == (shown, shares)


def test_names_that_end_in_a_letter_or_a_number_are_folded_for_every_slurm():
    names = [*(f"node{number}-a40" for number in (20, 21, 22)), *(f"node{number}-l40" for number in range(40, 44))]
    nodes = "\n".join(node(name, gres=f"gpu:{1 if 'a40' in name else 8}") for name in names)
    found = surveyed(Untold(nodes, partition("gpu", ",".join(names))))
    assert sorted(part.nodes for part in found.parts.values()) == ["node[20-22]-a[40]", "node[40-43]-l[40]"]


def test_nodes_of_two_ranges_are_read_also_in_a_contract():
    [part] = parse_partitions(field("37-partition-two-ranges.txt"))
    assert (len(part.nodes), part.nodes[0], part.nodes[-1]) == (224, "rack01-01", "rack14-16")
    assert OutageTerms(nodes="rack[01-14]-[01-16]", least_nodes=224).node_names == part.nodes


@pytest.mark.parametrize(
    ("key", "value", "error"),
    [
        *((key, value, f"partition debug: {key}: expected a whole number or UNLIMITED, found '{value}'")
          for key in ("MaxNodes", "MaxCPUsPerNode", "MaxCPUsPerSocket", "MaxMemPerNode", "MaxMemPerCPU")
          for value in ("nan", "-1", "1e9", "1.5", "two", "")),
        *((key, value, f"partition debug: {key}: expected a whole number, found '{value}'")
          for key in ("MinNodes", "PriorityTier") for value in ("nan", "-1", "UNLIMITED")),
        *(("MaxTime", value, f"partition debug: MaxTime: expected a duration .* or UNLIMITED, found '{value}'")
          for value in ("nan", "-1", "1e9", "soon", "1:2:3:4", "")),
        ("State", "", "partition debug: State: expected a word, found ''"),
        ("Nodes", "n[1-", r"expected a list of 1 to 100,000 nodes such as node\[1-4\], found 'n\[1-'"),
    ],
)  # fmt: skip
def test_an_odd_limit_of_a_partition_is_refused_by_its_name(key, value, error):
    text = partition("debug", "n1", **({} if key == "Nodes" else {key: value}))
    with pytest.raises(SurveyError, match=error):
        parse_partitions(text.replace("Nodes=n1", f"Nodes={value}") if key == "Nodes" else text)


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("State=IDLE", "State=", "State"),
        ("State=IDLE ", "", "State"),
        ("RealMemory=257000", "RealMemory=1e9", "RealMemory"),
        ("CPUTot=1", "CPUTot=nan", "CPUTot"),
        ("CPUEfctv=1", "CPUEfctv=-1", "CPUEfctv"),
        ("Boards=1", "CoreSpecCount=two", "CoreSpecCount"),
        ("Boards=1", "MemSpecLimit=\u0663", "MemSpecLimit"),
    ],
)
def test_an_odd_value_of_a_node_is_refused_by_its_name(old, new, key):
    with pytest.raises(SurveyError, match=f"node n1: {key}: expected a (word|whole number), found '"):
        parse_nodes(node("n1").replace(old, new))


@pytest.mark.parametrize(
    ("limits", "key"),
    [("node=1e9||", "node"), ("node=4,cpu=-1||", "cpu"), ("|node=nan|", "node"), ("||tomorrow", "MaxWall")],
)
def test_an_odd_limit_of_a_qos_is_refused_by_its_name(limits, key):
    with pytest.raises(SurveyError, match=f"qos big: {key}: expected a"):
        parse_qos(f"big|{limits}\n")
    cluster = Cluster(node("n1"), partition("batch", "n1", QoS="big"))
    cluster.qos = f"big|{limits}"
    with pytest.raises(SurveyError, match="qos big"):
        surveyed(cluster)


def test_targets_of_lustre_that_are_inactive_do_not_count(on_path, monkeypatch):
    mount = "30 20 0:40 / /work rw - lustre 10.0.0.1@o2ib:/amefs rw"
    targets = FIELD / "20-lfs-osts-inactive.txt"
    answers = f"*-c*) echo 1 ;; *-S*) echo 1048576 ;; *) cat {shlex.quote(str(targets))} ;;"
    on_path("lfs", f"#!/bin/sh\ncase $* in {answers} esac\n")
    monkeypatch.setattr(folders, "table", lambda: [("0:40", "/work", {"type": "lustre"})])
    facts = dict(folders.lustre())
    found = one_node(probe("NAME", mounts=[mount], folders=["/work/ann"], facts=facts))
    [work] = found.parts["batch"].told.file_systems
    assert (work.stripe_count, work.stripe_size, work.osts) == (1, 1 << 20, 5)


SMI = """#!/bin/bash
case $* in
  -L) exit 0 ;;
  *compute_cap*) echo 'Field "compute_cap" is not a valid field to query.'; exit 2 ;;
  *mig.mode.current*) printf '[N/A]\\n[N/A]\\n' ;;
  *) printf '0, \\033[4mTesla K80\\033[0m, 384.81, 11439\\n1, Tesla K80, 384.81, [Unknown Error]\\n' ;;
esac
"""


def test_a_field_that_an_old_driver_does_not_know_loses_no_gpu(on_path):
    on_path("nvidia-smi", SMI)
    command, given = question([], [])
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
    found = parse(done.stdout)
    assert [tuple(gpu) for gpu in found.gpus] == [("Tesla K80", 11439, "", False), ("Tesla K80", 0, "", False)]


def test_what_a_gpu_tells():
    [probed] = parse(probe("NAME", facts=gpu(0, "NVIDIA A100", 40960, "8.0", "Enabled"))).gpus
    assert (probed.memory_mib, probed.arch, probed.mig) == (40960, "sm_80", True)


# Partitions with the same four nodes -> the one to take.
@pytest.mark.parametrize(
    ("texts", "access", "taken"),
    [
        ([four("small", "YES", MaxNodes="1"), four("large", MaxNodes="3")], [], "large"),
        ([four("short", "YES", MaxTime="30:00"), four("long")], [], "long"),
        ([four("any"), four("usual", "YES")], [], "usual"),
        ([four("big", "YES", MinNodes="3"), four("any")], [], "any"),
        ([four("shared", "YES", OverSubscribe="FORCE:4"), four("own")], [], "own"),
        ([four("idle", "YES", PreemptMode="REQUEUE"), four("own", PriorityTier="9", MaxNodes="3")], [], "idle"),
        ([four("idle", "YES", PreemptMode="REQUEUE"), four("own", PriorityTier="9")], [], "own"),
        ([four("idle", "YES", PreemptMode="OFF"), four("own", PriorityTier="9", MaxNodes="3")], [], "idle"),
        ([four("a", "YES", PreemptMode="GANG"), four("b", PreemptMode="GANG", MaxNodes="3")], [], "a"),
        ([four("paid", "YES", AllowAccounts="a,b"), four("all")], [], "all"),
        ([four("paid", "YES", AllowAccounts="a,b"), four("all")], ["-A", "a"], "paid"),
        ([four("paid", AllowAccounts="a,b", MaxNodes="4"), four("all", "YES")], ["--account=c"], "all"),
        ([four("q", AllowQos="high"), four("all", "YES", MaxNodes="1")], ["--qos=high"], "q"),
        ([four("not", "YES", DenyAccounts="c"), four("all")], ["-Ac"], "all"),
        ([four("paid", AllowAccounts="a,b")], [], "paid"),
    ],
)
def test_which_of_several_partitions_is_taken(texts, access, taken):
    found = surveyed(Untold("\n".join(node(f"n{number}") for number in range(1, 5)), "\n".join(texts)), access=access)
    assert [one.slurm_partition for one in found.parts.values()] == [taken]


def test_a_partition_of_other_groups_holds_no_node_for_us():
    slurm = parse_partitions("PartitionName=own AllowGroups=physics,chem Nodes=n1 MaxNodes=UNLIMITED State=UP\n")
    nodes = parse_nodes(node("n1"))
    for group, count in (("chem", 1), ("bio", 0)):
        found = parts(kinds(nodes, []), nodes, slurm, Caller(frozenset({group})))
        assert (len(found.parts), len(found.unreachable)) == (count, 1 - count)


def test_an_account_that_jobs_have_to_name_is_asked_for(tmp_path):
    cluster = Untold(node("n1"), partition("paid", "n1", AllowAccounts="a,b"))
    assert surveyed(cluster).parts["paid"].wants == ["--account=a|b"]
    assert surveyed(cluster, access=["--account=a"]).parts["paid"].wants == []


@pytest.mark.parametrize(
    ("limits", "features", "probed"),
    [
        ({"MaxNodes": "1"}, {ONE}, 1),
        ({"MaxNodes": "2"}, {ONE, TWO}, 2),
        ({"MaxNodes": "5"}, {ONE, TWO, ALL, EACH}, 2),
        ({"MinNodes": "2"}, {TWO, ALL, EACH}, 2),
        ({"MinNodes": "3"}, {ALL, EACH}, 3),
        ({"MinNodes": "0", "MaxNodes": "UNLIMITED"}, {ONE, TWO, ALL, EACH}, 2),
    ],
)
def test_nodes_of_a_job_against_every_scale_and_the_probe(limits, features, probed, tmp_path):
    nodes = "\n".join(node(f"n{number}") for number in range(1, 6))
    cluster = Untold(nodes, partition("batch", "n[1-5]", **limits))
    _, made, left = made_of(cluster, tmp_path)
    assert SCALES & {*made["batch"].features} == features
    assert left.get("batch", set()) == SCALES - features
    assert len(cluster.asked["batch"]) == probed


@pytest.mark.parametrize(
    ("limits", "cores", "memory_gib"),
    [
        ({"MaxCPUsPerNode": "48", "MaxMemPerNode": "128000"}, 48, 125),
        ({"MaxCPUsPerSocket": "16"}, 32, 251),
        ({"MaxCPUsPerNode": "48", "MaxCPUsPerSocket": "28", "MaxMemPerCPU": "1024"}, 48, 48),
        ({"MaxMemPerCPU": "12000"}, 64, 251),
        ({"MaxCPUsPerSocket": "UNLIMITED", "MaxMemPerCPU": "UNLIMITED"}, 64, 251),
    ],
)
def test_cpus_and_memory_that_a_partition_gives_of_a_node(limits, cores, memory_gib, tmp_path):
    cluster = Untold(node("n1"), partition("batch", "n1", **limits))
    _, made, _ = made_of(cluster, tmp_path)
    assert (made["batch"].cores.per_node, made["batch"].memory_gib_per_node) == (cores, memory_gib)


def test_a_node_in_an_unknown_state_is_named_and_stops_no_other(tmp_path):
    nodes = "\n".join([node("n1", state="IDLE+HAPPY"), node("n2")])
    found, made, _ = made_of(Untold(nodes, partition("batch", "n[1-2]")), tmp_path)
    part = found.parts["batch"]
    assert (part.strange, part.out_of_service, made["batch"].nodes) == (["n1: IDLE+HAPPY"], "n1", 2)


@pytest.mark.parametrize(
    ("qos", "access", "nodes", "longest_s"),
    [
        ("", [], (1, 8), 86400),
        ("big|node=3||", [], (1, 3), 86400),
        ("big|cpu=256||12:00:00", [], (1, 4), 43200),
        ("big||node=2|", [], (2, 8), 86400),
        ("big|node=64||2-00:00:00", [], (1, 8), 86400),
        ("other|node=1||\nbig|node=6||", [], (1, 6), 86400),
        ("other|node=2||\nbig|node=6||", ["--qos=other"], (1, 2), 86400),
        ("no qos at all", [], (1, 8), 86400),
    ],
)
def test_limits_of_a_qos_hold_besides_those_of_the_partition(qos, access, nodes, longest_s):
    of_64 = "\n".join(node(f"n{number}") for number in range(1, 9))
    limits = partition("batch", "n[1-8]", QoS="big", MaxNodes="8", MaxTime="1-00:00:00")
    cluster = Untold(of_64, limits)
    cluster.qos = qos
    part = surveyed(cluster, access=access).parts["batch"]
    assert ((part.least_nodes, part.most_nodes), part.longest_s) == (nodes, longest_s)


def test_where_accounting_does_not_tell_the_qos_stands_as_a_word_of_warning():
    class Denied(Untold):
        def slurm(self, command):
            if command.startswith("sacctmgr"):
                raise InputError("sacctmgr: error: Access/permission denied")
            return super().slurm(command)

    found = surveyed(Denied(node("n1"), partition("batch", "n1", QoS="big")))
    assert found.parts["batch"].limits == {"QoS": "big"}
    assert "# QoS=big: this QOS may allow fewer nodes" in files_of(found)["site.yaml"]
