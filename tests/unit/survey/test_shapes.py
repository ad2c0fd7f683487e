"""Clusters of several shapes: the suite's own loader accepts the site that the survey writes."""

import json
import pathlib

import msgspec
import pytest
import yaml
from msgspec import structs

from kappa.app.survey.features import mpi_of
from kappa.app.survey.found import Survey, changes, kept
from kappa.app.survey.hardware import memory_gb_per_s
from kappa.app.survey.probe import parse
from kappa.app.survey.records import SurveyError
from kappa.app.survey.site_files import SETTINGS, asked
from kappa.app.survey.slurm import (
    NODES,
    PARTITIONS,
    TOPOLOGY,
    parse_gres,
    parse_mpi_types,
    parse_nodes,
    parse_partitions,
    parse_topology,
)
from kappa.app.survey.theory import references
from tests.unit.survey.clusters import (
    Cluster,
    Recorded,
    files_of,
    gpu,
    node,
    one_node,
    partition,
    probe,
    site_in,
    surveyed,
    with_facts,
)

LUSTRE = "30 20 0:40 / /lustre rw - lustre 10.0.0.1@o2ib:/work rw"
ADAPTER = ("mlx5_0.1", "200 Gb/sec (4X HDR)")


@pytest.fixture
def loaded(tmp_path):
    return lambda found: site_in(tmp_path / "site_configs", found)


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


def test_three_hundred_recorded_nodes_of_which_some_are_drained_and_one_is_down(loaded):
    cluster = Recorded("three-hundred/")
    nodes = {one.name: one for one in parse_nodes(cluster.slurm(NODES))}
    assert nodes["node37"].condition.words == {"IDLE", "DRAIN"} and nodes["node151"].condition.words == {"DOWN"}
    assert nodes["node37"].reason.startswith("EDAC: 1204 corrected errors, DIMM=A3 node37 [root@")
    found = surveyed(cluster)
    assert (found.leaf_switches, [one.switches for one in found.parts.values()]) == (19, [10, 10])
    assert [one.scheduler for one in partitions_of(loaded(found)).values()] == ["slurm"] * 2


def test_recorded_kinds_in_one_partition_with_limits_and_neither_topology_nor_accounting(loaded):
    cluster = Recorded("several-kinds/")
    assert parse_topology(cluster.slurm(TOPOLOGY)) == []
    batch, debug, admin, old = parse_partitions(cluster.slurm(PARTITIONS))
    assert (batch.longest_s, batch.most_nodes, batch.default) == (86400, 32, True)
    assert (debug.longest_s, debug.most_nodes, len(debug.nodes)) == (1800, 2, 4)
    assert (admin.closed, old.closed, batch.closed) == ("RootOnly=YES", "State=DOWN", "")
    found = surveyed(cluster)
    assert found.leaf_switches == 0
    assert all(one.most_nodes == 32 and one.switches == 0 for one in found.parts.values())
    made = partitions_of(loaded(found))
    assert {name: one.scheduler for name, one in made.items()} == dict.fromkeys(found.parts, "squeue")
    said = " ".join(asked(found))
    assert "none of its nodes takes jobs now" in said
    assert "node[47-48]: in no partition that users may use" in said


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
                        facts={"site.lustre": [["/lustre", 1, 1048576, 16]]})},
        "\n".join([*leaves, "SwitchName=top Level=1 LinkSpeed=1 Nodes=r[0-19]n[00-31] Switches=leaf[0-19]"]),
    )  # fmt: skip


@pytest.mark.parametrize("none", ["accounting_storage/none", "(null)", ""])
def test_without_accounting_squeue_tells_how_jobs_go(loaded, none):
    cluster = large()
    assert partitions_of(loaded(surveyed(cluster)))["batch"].scheduler == "slurm"
    cluster.accounting = none
    found = surveyed(cluster)
    assert partitions_of(loaded(found))["batch"].scheduler == "squeue"
    assert f"AccountingStorageType={none}" in files_of(found)["site.yaml"]


def test_where_sacct_is_denied_squeue_tells_how_jobs_go(loaded):
    cluster = large()
    cluster.sacct_fails = "`sacct` ended with status 1 and said: sacct: error: Access/permission denied"
    found = surveyed(cluster)
    assert partitions_of(loaded(found))["batch"].scheduler == "squeue"
    assert f"scheduler: squeue  # {cluster.sacct_fails}\n" in files_of(found)["site.yaml"]
    cluster.accounting = "accounting_storage/none"
    assert not surveyed(cluster).sacct_fails


@pytest.mark.parametrize(
    ("limit", "written"),
    [("00:05:00", "5m"), ("00:01:30", "90s"), ("02:00:00", "2h"), ("08:00:00", None), ("UNLIMITED", None)],
)
def test_a_partition_for_short_jobs_has_checks_ask_for_no_more(loaded, limit, written):
    found = one_node(probe("NAME"), MaxTime=limit)
    assert partitions_of(loaded(found))["batch"].max_time == written
    line = f"    max_time: {written}  # scontrol --oneliner show partition: MaxTime"
    assert (line in files_of(found)["site.yaml"]) == bool(written)


def test_what_was_found_before_limits_and_sacct_were_asked_for_is_read():
    found = surveyed(large())
    then = msgspec.json.decode(kept(found))
    del then["sacct_fails"], then["parts"]["batch"]["longest_s"]
    before = msgspec.convert(then, Survey)
    assert changes(before, found) == ["parts.batch.longest_s: none -> 86400"]


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
    assert "[25000, -0.5, null, MB/s]" in files_of(found)["references/network.yaml"].replace('"', "")


@pytest.mark.parametrize(
    ("model", "gb_per_s"),
    [
        ("Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz", 255.9),
        ("Intel(R) Xeon(R) Platinum 8280 CPU @ 2.70GHz", 281.6),
        ("Intel(R) Xeon(R) Platinum 9242 CPU @ 2.30GHz", 563.1),
        ("Intel(R) Xeon(R) Platinum 8380 CPU @ 2.30GHz", 409.6),
        ("Intel(R) Xeon(R) Gold 6330 CPU @ 2.00GHz", 375.4),
        ("INTEL(R) XEON(R) PLATINUM 8480+", 614.4),
        ("Intel(R) Xeon(R) CPU Max 9480", 614.4),
        ("INTEL(R) XEON(R) PLATINUM 8592+", 716.8),
        ("Intel(R) Xeon(R) 6980P", 1228.8),
        ("AMD EPYC 7601 32-Core Processor", 341.2),
        ("AMD EPYC 7H12 64-Core Processor", 409.6),
        ("AMD EPYC 7A53 64-Core Processor", 409.6),
        ("AMD EPYC 75F3 32-Core Processor", 409.6),
        ("AMD EPYC 9654 96-Core Processor", 921.6),
        ("AMD EPYC 9755 128-Core Processor", 1152),
        ("Ampere(R) Altra(R) Max Processor M128-30 CPU @ 3.0GHz", 409.6),
        ("AWS Graviton3 AWS Graviton3 CPU @ 2.6GHz", 614.4),
        ("A64FX", 2048),
        # Two chiplets of cores; a maker's name of a core; a virtual processor; models with different speeds.
        ("AMD EPYC 7282 16-Core Processor", None),
        ("AMD EPYC 9115 16-Core Processor", None),
        ("Neoverse-V2", None),
        ("Intel(R) Xeon(R) Processor @ 2.60GHz", None),
        ("Intel(R) Xeon(R) Platinum 8380H CPU @ 2.90GHz", None),
        ("Intel(R) Xeon(R) CPU E5-2690 v4 @ 2.60GHz", None),
    ],
)
def test_what_memory_channels_carry_by_the_model_of_the_processor(model, gb_per_s):
    assert memory_gb_per_s(parse(with_model(model))) == gb_per_s


def with_model(model, **more):
    return probe("NAME", **more).replace(json.dumps("Intel(R) Xeon(R) CPU @ 2.00GHz"), json.dumps(model))


def test_the_firmware_names_a_processor_whose_core_several_makers_have():
    firmware = ["BIOS Model name", "NVIDIA Grace CPU Superchip CPU @ 3.4GHz"]
    text = with_facts(with_model("Neoverse-V2"), {"site.processor": [firmware]})
    assert memory_gb_per_s(parse(text)) == 1024


def references_of_memory(text):
    return [
        (one.check, one.metric, one.value, one.lower, one.upper, one.unit)
        for one in references("made", one_node(text))
        if "channels" in one.method
    ]


def test_half_of_what_memory_channels_carry_is_a_first_reference_but_of_virtual_nodes():
    model = "AMD EPYC 7763 64-Core Processor"
    of_node = [(check, metric, 409600, -0.5, None, "MB/s")
               for check, metric in (("Stream", "triad"), ("NodeSweep", "slowest_node_triad"))]  # fmt: skip
    of_domain = [(check, "local_triad", 51200, -0.5, None, "MB/s") for check in ("StreamNuma", "NumaMatrix")]
    assert references_of_memory(with_model(model, domains=8)) == of_node + of_domain
    assert references_of_memory(with_model(model, sockets=1, domains=1)) == [
        (check, metric, 204800, *rest) for check, metric, _, *rest in of_node
    ]
    virtual = {"site.processor": [["Hypervisor vendor", "KVM"]]}
    assert references_of_memory(with_facts(with_model(model), virtual)) == []
    assert references_of_memory(probe("NAME")) == []


def test_kinds_that_no_option_tells_apart_are_asked_for_and_expected(loaded):
    # Names without a shorter range: too many for an option of each job.
    spelt = ["".join("abcdefghij"[int(digit)] for digit in str(number)) for number in range(100, 300)]
    names = [word * 4 for word in spelt]
    nodes = [node(name, cores=32 if name < "c" else 64) for name in names]
    found = surveyed(
        Cluster(
            "\n".join(nodes),
            partition("batch", ",".join(names)),
            {"batch": probe("NAME"), "batch-2": probe("NAME", cores=64)},
        )
    )
    site = loaded(found)
    assert all(not one.features for one in partitions_of(site).values())
    assert sum("no Slurm feature" in words for words in asked(found)) == 2
    lacking = [one for one in site.unexplained("smoke") if one.partition == "batch-2"]
    assert any("network/osu-pt2pt" in one.families for one in lacking)


def test_mig_and_gpus_of_two_kinds(loaded):
    nodes = [node("g1", "gpu", gres="gpu:1g.10gb:7(S:0)"), node("h1", "mixed", gres="gpu:v100:2(S:0),gpu:a100:2(S:1)")]
    whole = {}
    for index in range(4):
        whole |= gpu(index, "NVIDIA A100-SXM4-40GB", 40960, "8.0")
    cut = gpu(0, "NVIDIA A100-SXM4-80GB", 81920, "8.0", "Enabled") | {"site.mig_slices": ["1g.10gb"] * 7}
    found = surveyed(
        Cluster(
            "\n".join(nodes), "\n".join([partition("gpu", "g1"), partition("mixed", "h1", Default="NO")]),
            {"gpu": probe("NAME", facts=cut), "mixed": probe("NAME", facts=whole)},
        )
    )  # fmt: skip
    made = partitions_of(loaded(found))
    assert "nvidia" not in made["gpu"].features and found.parts["gpu"].told.gpus.slices == 7
    assert made["mixed"].gpus_per_node == 4 and {"nvidia", "several_gpus"} <= set(made["mixed"].features)


@pytest.mark.parametrize(("domains", "said"), [(2, ""), (4, "lscpu counts 2 x numanode, hwloc 4: which is right?")])
def test_hwloc_is_a_second_witness_of_cores_and_numa_domains(domains, said):
    counted = [["package", 2], ["numanode", domains], ["core", 64], ["pu", 64], ["l3cache", 2]]
    found = one_node(probe("NAME", facts={"site.hwloc": counted}))
    assert found.parts["batch"].told.hwloc["l3cache"] == 2
    text = files_of(found)["site.yaml"]
    assert "lscpu and hwloc" in text and (said in text if said else "which is right" not in text)


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
    found = one_node(text)
    assert {one.point: one.kind for one in found.parts["batch"].told.file_systems} == {point: kind, "/local": "xfs"}
    made = partitions_of(loaded(found))["batch"].storage
    assert made["shared"].path == f"{point}/ann" and made["nvme"].path == "/local"


def test_without_a_folder_to_write_in_storage_is_asked_for_and_expected(loaded):
    found = one_node(probe("NAME", mounts=[LUSTRE]))
    assert any("storage shared" in words for words in asked(found))
    lacking = loaded(found).unexplained("smoke")
    assert any("storage_shared" in one.features and "storage/fio" in one.families for one in lacking)


def with_modules(place="/apps/ompi/5.0.3"):
    text = probe("NAME", programs=["gcc", "g++", "gfortran", "c++", "cmake", "apptainer"])
    facts = {
        "program.mpicc": f"{place}/bin/mpicc",
        "site.versions": [["c++", "c++ (GCC) 13.2.0"], ["cmake", "cmake version 3.26.5"]],
        "site.modules": ["gcc/13.2.0", "openmpi/5.0.3"],
    }
    return with_facts(text, facts)


def test_modules_containers_and_what_spack_need_not_build(loaded):
    found = one_node(with_modules())
    assert partitions_of(loaded(found))["batch"].container == "Apptainer"
    files = files_of(found)
    assert "# gcc/13.2.0 openmpi/5.0.3  # probe of n1: module avail" in files["site.yaml"]
    packages = yaml.safe_load(files["spack/packages.yaml"])["packages"]
    [gcc] = packages["gcc"]["externals"]
    assert gcc["spec"] == "gcc@13.2.0 languages='c,c++,fortran'"
    assert gcc["extra_attributes"]["compilers"]["fortran"] == "/usr/bin/gfortran"
    assert packages["openmpi"]["externals"] == [{"spec": "openmpi@5.0.3", "prefix": "/apps/ompi/5.0.3"}]
    assert packages["mpi"] == {"require": "openmpi"} and packages["cmake"]["buildable"] is False


def test_an_mpi_library_without_a_prefix_of_its_own_is_left_to_spack():
    cluster = Cluster(node("n1"), partition("batch", "n1"), {"batch": with_modules("/usr")})
    packages = files_of(surveyed(cluster))["spack/packages.yaml"]
    assert "openmpi" not in yaml.safe_load(packages)["packages"] and "# Open MPI: /usr/bin/mpicc" in packages


def test_what_an_older_version_found_is_read():
    now = msgspec.json.decode(kept(surveyed(Recorded())))
    for part in now["parts"].values():
        for name in ("modules", "memory_gb_per_s", "limits"):
            del part["told"][name]
        part["told"]["further_mpi"] = []  # no longer kept
    before = msgspec.convert(now, Survey).parts["cpu"].told
    assert (before.modules, before.memory_gb_per_s, before.limits) == ([], None, {})


def test_again_tells_what_changed_on_the_cluster():
    before, cluster = surveyed(large()), large()
    assert changes(before, surveyed(large())) == []
    cluster.nodes = cluster.nodes.replace("IDLE+DRAIN", "IDLE").replace("r19n31", "r19n32")
    cluster.topology = cluster.topology.replace("r19n[00-31]", "r19n[00-30,32]")
    cluster.partitions = cluster.partitions.replace("r[0-19]n[00-31]", "r[0-18]n[00-31],r19n[00-30,32]")
    found = changes(before, surveyed(cluster))
    assert any(line.startswith("parts.batch.out_of_service: r3n07 -> none") for line in found)
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
    with pytest.raises(SurveyError, match=r"show node.*node n1: Sockets: expected a whole number, found 'two'"):
        parse_nodes(node("n1").replace("Sockets=2", "Sockets=two"))
    with pytest.raises(SurveyError, match="line 1: expected a record that begins with NodeName="):
        parse_nodes("PartitionName=a Nodes=b")


def test_a_probe_cut_off_is_refused():
    cluster = Cluster(node("n1"), partition("batch", "n1"), {"batch": probe("NAME").partition("site.versions")[0]})
    found = surveyed(cluster)
    assert "did not finish" in found.parts["batch"].why_not_told


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("bash: line 9: python3: command not found", "install Python 3.6 or later as `/usr/bin/python3`"),
        ('site.mounts ["8:1", "/", "/scratch", "xfs"]', "the probe of n1: site.mounts: "),
        ("limit.open_files {", "expected facts, as lines NAME JSON"),
        ('failed.links "ValueError: a\\u001b[2Jb"', "the probe of n1: failed.links: ValueError: ab"),
    ],
)
def test_facts_that_cannot_be_read_are_refused(line, words):
    text = f"{line}\n{probe('NAME')}"
    found = surveyed(Cluster(node("n1"), partition("batch", "n1"), {"batch": text}))
    assert words in found.parts["batch"].why_not_told


def test_a_virtual_interface_is_no_link():
    text = with_facts(probe("NAME"), {"net.br0.1.state": "up", "net.br0.1.speed_mbit": 100000})
    assert {one.name: (one.gbit_per_s, one.virtual) for one in parse(text).interfaces} == {
        "br0.1": (100, True),
        "eno1": (25, False),
    }


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
    ):
        survey = structs.replace(found, mpi_default=default, login=structs.replace(found.login, shares_machine=False))
        one = mpi_of(structs.replace(told, versions={"mpirun": version}), survey)
        assert (one.variables, one.launcher) == (variables, launcher), version
    without = structs.replace(found, mpi_types=["cray_shasta"], mpi_default="none")
    assert (
        mpi_of(structs.replace(told, versions={"mpirun": "mpirun (Open MPI) 5.0.3"}), without).launcher
        == "mpirun-openmpi"
    )
