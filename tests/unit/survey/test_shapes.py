"""Clusters of several shapes: what is found of them is a site that the suite's own loader takes."""

import datetime
import pathlib

import msgspec
import pytest
from msgspec import structs

from kappa.sites.expected import load_site
from kappa.survey.found import Survey, changes, kept
from kappa.survey.mpi import mpi_of
from kappa.survey.records import SurveyError
from kappa.survey.site_files import SETTINGS, asked, site_files
from kappa.survey.slurm import parse_gres, parse_mpi_types, parse_nodes
from tests.unit.survey.clusters import Cluster, Recorded, node, partition, probe, surveyed

DAY = datetime.date(2026, 1, 1)
LUSTRE = "30 20 0:40 / /lustre rw - lustre 10.0.0.1@o2ib:/work rw"
ADAPTER = "mlx5_0:1|4: ACTIVE|200 Gb/sec (4X HDR)|InfiniBand"


@pytest.fixture
def loaded(tmp_path):
    def load(found):
        folder = tmp_path / "site_configs/made"
        for path, text in site_files("made", found, DAY).items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        return load_site(folder)

    return load


def partitions_of(site):
    return site.description.described.partitions


def test_the_embedded_cluster_as_recorded(loaded):
    found = surveyed(Recorded(), [".kappa/osu/bin"])
    made = partitions_of(loaded(found))
    assert {name: one.nodes for name, one in made.items()} == {"cpu": 2, "gpu": 2}
    assert made["cpu"].storage["shared"].parallel and made["cpu"].storage["scratch"].path == "/scratch"
    assert made["cpu"].shared_host and "scale_whole_partition" not in made["cpu"].features
    assert made["cpu"].tuning["NodeScratch"]["file_size_mib"] < 1024
    [words] = [words for words in asked(found) if "gpu" in words]
    assert "Gres=gpu:placeholder:1" in words
    assert msgspec.json.decode(kept(found), type=Survey) == found


def large():
    names = [f"r{rack}n{number:02}" for rack in range(20) for number in range(32)]
    nodes = [
        node(
            name,
            threads=2,
            features=f"{name[: name.index('n')]},ib",
            state="IDLE+DRAIN" if name == "r3n07" else "ALLOCATED",
        )
        for name in names
    ]
    leaves = [f"SwitchName=leaf{rack} Level=0 LinkSpeed=1 Nodes=r{rack}n[00-31]" for rack in range(20)]
    return Cluster(
        "\n".join(nodes), partition("batch", "r[0-19]n[00-31]"),
        {"batch": probe("NAME", threads=2, domains=8, adapters=[ADAPTER], mounts=[LUSTRE], folders=["/lustre/ann"],
                        lustre=["/lustre|1|1048576|16"])},
        "\n".join([*leaves, "SwitchName=top Level=1 LinkSpeed=1 Nodes=r[0-19]n[00-31] Switches=leaf[0-19]"]),
    )  # fmt: skip


def test_hundreds_of_nodes_by_rack_and_number_with_smt_and_sub_numa_clustering(loaded):
    found = surveyed(large())
    site = loaded(found)
    [(name, made)] = partitions_of(site).items()
    assert (name, made.nodes, made.slurm_nodes) == ("batch", 640, None)
    assert found.parts["batch"].out_of_service == "r3n07"
    assert made.processor.num_cpus_per_core == 2 and len(made.processor.topology.numa_nodes) == 8
    assert made.processor.topology.cores[0] == hex(1 | 1 << 64)
    assert made.storage["shared"].lustre.stripe_size == 1 << 20
    assert {"numa_domains", "placement_same_switch", "congestion", "large_puts"} <= set(made.features)
    assert loaded(found).description.described.environments["system"].env_vars["SLURM_MPI_TYPE"] == "pmix"
    assert "[25000, -0.5, null, MB/s]" in site_files("made", found, DAY)["references/network.yaml"].replace('"', "")


def test_three_generations_in_one_partition(loaded):
    kinds = {"rome": 4, "milan": 3, "genoa": 2}
    nodes = [
        node(f"{kind[0]}{number}", features=f"{kind},amd") for kind, count in kinds.items() for number in range(count)
    ]
    found = surveyed(
        Cluster(
            "\n".join(nodes),
            partition("batch", "r[0-3],m[0-2],g[0-1]"),
            {f"batch-{kind}": probe("NAME") for kind in kinds},
        )
    )
    made = partitions_of(loaded(found))
    assert {name: (one.nodes, one.slurm_nodes, one.access) for name, one in made.items()} == {
        "batch-rome": (4, "r[0-3]", ["--constraint=rome"]),
        "batch-milan": (3, "m[0-2]", ["--constraint=milan"]),
        "batch-genoa": (2, "g[0-1]", ["--constraint=genoa"]),
    }


def test_kinds_that_no_option_tells_apart_are_asked_for_and_expected(loaded):
    nodes = [node("a1"), node("a2"), node("b1", cores=64)]
    found = surveyed(
        Cluster(
            "\n".join(nodes),
            partition("batch", "a[1-2],b1"),
            {"batch": probe("NAME"), "batch-2": probe("NAME", cores=64)},
        )
    )
    site = loaded(found)
    assert all(not one.features for one in partitions_of(site).values())
    assert sum("no feature of Slurm" in words for words in asked(found)) == 2
    assert "batch-2" in site.modes["smoke"]["network/osu-pt2pt"]


def test_mig_and_gpus_of_two_kinds(loaded):
    nodes = [node("g1", "gpu", gres="gpu:1g.10gb:7(S:0)"), node("h1", "mixed", gres="gpu:v100:2(S:0),gpu:a100:2(S:1)")]
    whole = [f"{number}, NVIDIA A100-SXM4-40GB, 40960, 8.0, Disabled" for number in range(4)]
    cut = ["0, NVIDIA A100-SXM4-80GB, 81920, 8.0, Enabled"]
    found = surveyed(
        Cluster(
            "\n".join(nodes), "\n".join([partition("gpu", "g1"), partition("mixed", "h1", Default="NO")]),
            {"gpu": probe("NAME", gpus=cut, migs=[f"  MIG 1g.10gb     Device  {n}: (UUID: MIG-0)" for n in range(7)]),
             "mixed": probe("NAME", gpus=whole)},
        )
    )  # fmt: skip
    made = partitions_of(loaded(found))
    assert "nvidia" not in made["gpu"].features and found.parts["gpu"].told.gpus.slices == 7
    assert made["mixed"].gpus_per_node == 4 and {"nvidia", "several_gpus"} <= set(made["mixed"].features)


def test_drained_nodes_do_not_stop_it(loaded):
    nodes = [node("n1", state="IDLE+DRAIN"), node("n2", state="DOWN*"), node("m1", "other")]
    found = surveyed(
        Cluster(
            "\n".join(nodes),
            "\n".join([partition("batch", "n[1-2]"), partition("other", "m1")]),
            {"other": probe("NAME")},
        )
    )
    made = partitions_of(loaded(found))
    assert made["batch"].nodes == 2 and made["batch"].cores.numa_domains is None
    assert any("none of its nodes takes jobs now" in words for words in asked(found))


@pytest.mark.parametrize(
    ("mount", "kind"),
    [
        ("31 20 0:41 / /beegfs rw - beegfs beegfs_nodev rw", "BeeGFS"),
        ("31 20 0:41 / /gpfs rw - gpfs gpfs0 rw", "GPFS"),
        ("31 20 0:41 / /home rw - nfs4 server:/home rw", "NFS"),
        (LUSTRE, "Lustre"),
    ],
)
def test_file_systems_are_recognised(mount, kind, loaded):
    point = mount.split()[4]
    text = probe(
        "NAME", mounts=[mount, "32 20 259:1 / /local rw - xfs /dev/nvme0n1 rw"], folders=[f"{point}/ann", "/local"]
    )
    found = surveyed(Cluster(node("n1"), partition("batch", "n1"), {"batch": text}))
    assert {one.point: one.kind for one in found.parts["batch"].told.file_systems} == {point: kind, "/local": "xfs"}
    made = partitions_of(loaded(found))["batch"].storage
    assert made["shared"].path == f"{point}/ann" and made["nvme"].path == "/local"


def test_without_a_folder_to_write_in_storage_is_asked_for_and_expected(loaded):
    found = surveyed(Cluster(node("n1"), partition("batch", "n1"), {"batch": probe("NAME", mounts=[LUSTRE])}))
    assert any("storage shared" in words for words in asked(found))
    assert loaded(found).modes["smoke"]["storage/fio"] == ("batch",)


def test_again_tells_what_changed_on_the_cluster():
    before, cluster = surveyed(large()), large()
    assert changes(before, surveyed(large())) == []
    cluster.nodes = cluster.nodes.replace("IDLE+DRAIN", "IDLE").replace("r19n31", "r19n32")
    cluster.topology = cluster.topology.replace("r19n[00-31]", "r19n[00-30,32]")
    cluster.partitions = cluster.partitions.replace("r[0-19]n[00-31]", "r[0-18]n[00-31],r19n[00-30,32]")
    found = changes(before, surveyed(cluster))
    assert any(line.startswith("~ batch.out_of_service: r3n07 -> none") for line in found)
    assert all("batch.nodes" in line or "out_of_service" in line for line in found)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("gpu:a100:4(S:0-1),shard:8(S:0)", [("gpu", "a100", 4), ("shard", "", 8)]),
        ("gpu:1g.5gb:7", [("gpu", "1g.5gb", 7)]),
        ("craynetwork:4,nvme:no_consume:1T,fast", [("craynetwork", "", 4), ("fast", "", 1), ("nvme", "", 1024**4)]),
        ("(null)", []),
    ],
)
def test_gres(said, expected):
    assert [tuple(one) for one in parse_gres(said)] == expected


def test_mpi_types_of_old_and_new_slurm():
    old = "srun: MPI types are...\nsrun: none\nsrun: pmi2\nsrun: pmix_v3\nsrun: pmix\n"
    assert parse_mpi_types(old) == ("pmi2", "pmix_v3", "pmix")
    assert parse_mpi_types(Recorded().slurm("srun --mpi=list")) == ("pmix", "cray_shasta", "pmi2", "pmix_v4")


def test_a_record_that_is_none_is_refused_by_command_and_key():
    with pytest.raises(SurveyError, match=r"show node.*n1: expected Sockets=NUMBER, found 'two'"):
        parse_nodes(node("n1").replace("Sockets=2", "Sockets=two"))
    with pytest.raises(SurveyError, match="line 1: expected a record that begins with NodeName="):
        parse_nodes("PartitionName=a Nodes=b")


def test_a_probe_cut_off_is_refused():
    cluster = Cluster(node("n1"), partition("batch", "n1"), {"batch": probe("NAME").partition("## limits")[0]})
    found = surveyed(cluster)
    assert "no section `limits`" in found.parts["batch"].why_not_told


def test_settings_are_those_of_any_site():
    embedded = pathlib.Path(__file__).parents[3] / "site_configs/embedded/settings.py"
    assert embedded.read_text() == SETTINGS


def test_how_ranks_are_started_fits_the_library():
    found = surveyed(Recorded())
    told = found.parts["cpu"].told
    for version, default, variables, launcher in (
        ("mpirun (Open MPI) 5.0.3", "none", {"SLURM_MPI_TYPE": "pmix"}, ""),
        ("mpirun (Open MPI) 5.0.3", "pmix_v4", {}, ""),
        ("HYDRA build details:", "none", {"SLURM_MPI_TYPE": "pmi2"}, ""),
        ("Intel(R) MPI Library for Linux* OS, Version 2021.13", "pmix", {"SLURM_MPI_TYPE": "pmi2"}, ""),
    ):
        survey = structs.replace(found, mpi_default=default, login=structs.replace(found.login, shares_machine=False))
        one = mpi_of(structs.replace(told, versions={"mpirun": version}), survey)
        assert (one.variables, one.launcher) == (variables, launcher), version
    without = structs.replace(found, mpi_types=["cray_shasta"], mpi_default="none")
    assert (
        mpi_of(structs.replace(told, versions={"mpirun": "mpirun (Open MPI) 5.0.3"}), without).launcher
        == "mpirun-openmpi"
    )
