"""Formats of Slurm versions 22.05 to 25.05 that differ from the embedded cluster's."""

import pathlib

import pytest

from kappa.app.survey.records import SurveyError
from kappa.app.survey.slurm import keeps_accounting, parse_config, parse_nodes, parse_topology
from tests.unit.survey.clusters import Cluster, node, partition, probe, surveyed

DATA = pathlib.Path(__file__).parents[2] / "data/survey/formats"


def nodes_of(name):
    return parse_nodes((DATA / name).read_text())


@pytest.mark.parametrize(
    ("file", "arch", "cores", "memory_mib", "reason"),
    [
        ("node-22.05-cloud.txt", "", 8, 1, ""),
        ("node-24.05-cloud.txt", "x86_64", 8, 62259, "Scheduler health check failed [root@2026-01-23T14:13:13]"),
        ("node-25.05-cloud.txt", "aarch64", 64, 124518,
         "Maintain Minimum Number Of Instances [root@2024-07-02T18:59:00]"),
    ],
)  # fmt: skip
def test_nodes_of_a_cloud_take_jobs_asleep_or_awake(file, arch, cores, memory_mib, reason):
    [one] = nodes_of(file)
    assert (one.arch, one.sockets * one.cores_per_socket, one.memory_mib, one.reason) == (
        arch,
        cores,
        memory_mib,
        reason,
    )
    assert one.condition.takes_jobs and one.condition.idle == ("POWERED_DOWN" not in one.condition.words)


def test_reserved_cores_and_free_text_that_looks_like_keys():
    [one] = nodes_of("node-23.11-reserved-cores.txt")
    assert (one.sockets, one.cores_per_socket, one.threads_per_core, one.memory_mib) == (2, 64, 2, 1031000)
    assert [tuple(gres) for gres in one.gres] == [("gpu", "a100", 4)]
    assert one.partitions == ("gpu", "gpu-long") and not one.condition.takes_jobs and "DRAIN" in one.condition.words


def test_blocks_are_no_switches():
    assert parse_topology((DATA / "topology-24.05-block.txt").read_text()) == []


def test_settings_of_several_controllers():
    config = parse_config((DATA / "config-25.05-two-controllers.txt").read_text())
    assert (config["SLURM_VERSION"], config["MpiDefault"]) == ("25.05.3", "pmix")
    assert config["SchedulerParameters"] == "bf_continue,bf_window=4320,defer"


@pytest.mark.parametrize(
    ("file", "kept"), [("config-24.11-no-accounting.txt", False), ("config-25.05-two-controllers.txt", True)]
)
def test_whether_accounts_are_kept(file, kept):
    assert keeps_accounting(parse_config((DATA / file).read_text())["AccountingStorageType"]) == kept


def test_switches_of_a_topology_file_that_the_plug_in_does_not_tell():
    leaves = [f"SwitchName=leaf{number} Level=0 LinkSpeed=1 Nodes=n{number}[1-2]" for number in (1, 2)]

    class Yaml(Cluster):
        def slurm(self, command):
            return super().slurm(command).replace("topology/tree", "topology/flat")

    nodes = "\n".join(node(f"n{leaf}{number}") for leaf in (1, 2) for number in (1, 2))
    cluster = Yaml(nodes, partition("batch", "n[11-12],n[21-22]"), {"batch": probe("NAME")}, "\n".join(leaves))
    assert surveyed(cluster).leaf_switches == 2


def test_switches_that_cannot_be_read_are_refused_by_the_command_whatever_the_plug_in():
    class Flat(Cluster):
        def slurm(self, command):
            return super().slurm(command).replace("topology/tree", "topology/flat")

    cluster = Flat(node("n1"), partition("batch", "n1"), topology="SwitchName=leaf1 Level=0 Nodes=n[1-")
    with pytest.raises(SurveyError, match="scontrol show topology"):
        surveyed(cluster)
