"""A mode's required runs follow from the features of a site; no feature is lost silently."""

import pathlib

import pytest
from msgspec import structs

from kappa.core.sites.derivation import Unexplained, expected_families, unexplained
from kappa.core.sites.expected import Expected, LeftOut
from kappa.core.sites.load import Site
from kappa.core.sites.site_file import describe
from kappa.core.vocabulary.modes import MODES
from kappa.core.vocabulary.scales import derived_features

SITES = pathlib.Path(__file__).parents[3] / "site_configs"
REAL = ("embedded", "cpu-infiniband", "ibisco-like")
TEXT = """\
descr: a site
partition_defaults:
  cores: {per_node: 8, sockets: 2, numa_domains: 2}
  environments: [system]
partitions:
  cpu:
    nodes: 4
    features: [scale_one_node, scale_two_nodes, scale_each_node, scale_whole_partition, network]
  bare: {nodes: 1, features: [scale_one_node]}
environments:
  system:
    features: [osu, stream]
    stream: stream
"""
SWITCHES = ("placement_same_switch", "placement_other_switch")


@pytest.fixture
def derive(tmp_path):
    """Return the expectations in a mode of the site of ``TEXT`` with changes, and the unexplained ones."""

    def derived(mode, *changes, expected=None):
        text = TEXT
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        (tmp_path / "site.yaml").write_text(text)
        site, expected = describe(tmp_path), expected or Expected()
        return expected_families(site, expected, mode), unexplained(site, expected, mode)

    return derived


def test_a_family_is_expected_where_one_of_its_cases_finds_all_that_it_needs(derive):
    found, _ = derive("smoke")
    assert found == {
        "node/health": ("cpu",), "node/partition-state": ("cpu", "bare"), "node/software": ("cpu",),
        "node/job-turnaround": ("cpu",), "network/osu-pt2pt": ("cpu",),
    }  # fmt: skip
    found, _ = derive("smoke", ("network]", "network, compute, links]"))
    assert {"compute/stream", "network/node-links"} <= {*found}
    # The partition is there, the program is not.
    assert not {"network/pair-sweep", "network/transport"} & {*found}


def test_a_need_may_be_met_in_one_of_two_ways_but_by_one_environment(derive):
    measured = ("network]", "network, compute]")
    for feature in ("emt", "emt-build"):
        key = f"{feature}]\n    build_dir: b" if feature == "emt-build" else f"{feature}]"
        found, _ = derive("nightly", measured, ("stream]", f"stream, {key}"))
        assert "application/emt-scaling" in found
    two = ("environments:\n  system:", "environments:\n  other: {features: [numactl]}\n  system:")
    both = ("environments: [system]", "environments: [system, other]")
    numa = ("network]", "network, compute, numa_domains]")
    assert "compute/stream-numa" not in derive("nightly", both, two, numa)[0]
    assert "compute/stream-numa" in derive("nightly", numa, ("[osu, stream]", "[osu, stream, numactl]"))[0]


def test_a_partition_has_the_modes_that_it_names_and_a_site_moves_checks_between_modes(derive):
    found, _ = derive("nightly", ("nodes: 4", "nodes: 4\n    modes: [full]"))
    assert found == {"node/partition-state": ("bare",)}
    moved = ("nodes: 4", "nodes: 4\n    also_in: {smoke: [OsuHello]}\n    not_in: {smoke: [OsuLatency, OsuBandwidth]}")
    suite = ("[osu, stream]", "[osu, osu-suite, stream]")
    measured = ("network]", "network, collectives]")
    assert "network/osu-pt2pt" in derive("smoke", suite, measured)[0]
    assert "network/osu-startup" not in derive("smoke", suite, measured)[0]
    found, _ = derive("smoke", moved, suite, measured)
    assert "network/osu-pt2pt" not in found and "network/osu-startup" in found
    # A partition that the mode leaves out does not count.
    assert "network/osu-pt2pt" in derive("full", moved)[0]


def test_modes_that_name_checks_or_leave_some_out(derive):
    measured = ("network]", "network, links, cores]")
    built = ("[osu, stream]", "[osu, stream, sweep-build]\n    build_dir: b")
    assert set(derive("links", measured)[0]) == {
        "node/partition-state", "node/health", "network/node-links", "network/osu-pt2pt",
    }  # fmt: skip
    nightly, calibrate = (set(derive(mode, measured, built)[0]) for mode in ("nightly", "calibrate"))
    left = {"node/health", "node/software", "network/transport", "compute/bits", "application/emt-bits"} & nightly
    assert calibrate < nightly and nightly - calibrate >= left
    # The only case of two ranks on a node is that which the mode names.
    without = ("scale_one_node, scale_two_nodes", "scale_two_nodes")
    assert "network/osu-pt2pt" not in derive("links", measured, without)[0]


def test_what_the_site_leaves_out(derive):
    def of_cpu(lacking):
        return {family for one in lacking if one.partition == "cpu" for family in one.families}

    assert "network/osu-pt2pt" in of_cpu(derive("smoke")[1]), "for its placements on switches"
    for entry in (
        LeftOut("so", families=["network/osu-pt2pt"]),
        LeftOut("so", families=["network/osu-pt2pt"], partitions=["cpu"], modes=["smoke"]),
        LeftOut("so", ["network"], modes=["smoke"]),
        LeftOut("so", ["osu"], modes=["smoke"]),
    ):
        found, lacking = derive("smoke", expected=Expected(left_out=[entry]))
        assert "network/osu-pt2pt" not in found and "node/health" in found
        assert "network/osu-pt2pt" not in of_cpu(lacking)
    found, lacking = derive("smoke", expected=Expected(left_out=[LeftOut("so", partitions=["cpu"])]))
    assert found == {"node/partition-state": ("bare",)} and {one.partition for one in lacking} == {"bare"}


def of(lacking, partition="cpu"):
    return {one.features for one in lacking if one.partition == partition}


def test_a_lack_needs_a_reason(derive):
    _, lacking = derive("smoke")
    assert Unexplained("cpu", ("collectives",), ("network/osu-collective",)) in lacking
    # If a case lacks two features, one reason is enough; Kappa names the fewest.
    assert {("links",), ("compute",), ("cores", "sweep-build"), ("fio", "storage_scratch")} <= of(lacking)
    # One node, or no second GPU, needs no reason. No node or GPU at all needs one.
    assert ("nvidia",) in of(lacking) and not any("several_gpus" in features for features in of(lacking))
    assert not any("scale_two_nodes" in features for features in of(lacking, "bare"))
    reasons = {name: "so" for name in ("links", "compute", "cores", "nvidia", "fio", *SWITCHES)}
    _, lacking = derive("smoke", expected=Expected(not_provided=reasons))
    assert of(lacking) == {("collectives",), ("binding", "sweep-build")}
    entry = LeftOut("so", ["collectives", "binding"], partitions=["cpu"])
    _, lacking = derive("smoke", expected=Expected(not_provided=reasons, left_out=[entry]))
    assert of(lacking) == set()
    # A reason for cpu does not hold for another partition.
    assert ("collectives",) in of(lacking, "bare")


def test_one_of_two_programs_lacks_as_long_as_neither_has_a_reason(derive):
    measured = ("network]", "network, compute]")

    def needs(**reasons):
        return ("emt|emt-build",) in of(derive("nightly", measured, expected=Expected(not_provided=reasons))[1])

    assert needs() and needs(emt="so")
    assert not needs(**{"emt": "so", "emt-build": "so"})


def test_what_spack_installs_on_demand_is_not_expected_and_needs_a_reason(derive):
    listed = ("environments: [system]", "environments: [system, mpi-io]")
    measured = ("network]", "network]\n    storage: {shared: {path: /shared, parallel: true}}")
    found, _ = derive("nightly", listed, measured)
    assert "storage/ior" in found
    installed = ("descr: a site", "descr: a site\nspack: {installed_only: true}")
    found, lacking = derive("nightly", listed, measured, installed)
    assert "storage/ior" not in found and ("ior",) in of(lacking)
    entry = LeftOut("Spack builds it on demand", ["ior"])
    assert ("ior",) not in of(derive("nightly", listed, measured, installed, expected=Expected(left_out=[entry]))[1])


def test_nothing_needs_a_reason_on_a_machine_that_does_not_exist():
    site = Site(SITES / "simulated")
    assert all(site.unexplained(mode) == [] for mode in MODES)
    families = {family for of_mode in site.modes.values() for family in of_mode}
    assert "network/random-ring" in families and not {"compute/hpl", "node/partition-state"} & families
    assert "network/fabric" not in {*Site(SITES / "cpu-infiniband").modes["full"]}
    assert "hdr-3-shared" in site.modes["full"]["network/fabric"]
    assert "hdr-3-shared" not in site.modes["nightly"]["network/fabric"]


@pytest.mark.parametrize("name", REAL)
def test_the_example_sites_say_why_they_lack_what_they_lack(name, monkeypatch):
    # `make validate MODE=full` installs the packages of its applications before it reads the site.
    monkeypatch.setattr("kappa.core.sites.facts.shutil.which", lambda program: f"/usr/bin/{program}")
    site = Site(SITES / name)
    assert [lack for mode in MODES for lack in site.unexplained(mode)] == []


def losses(site):
    """Each stated feature of a partition, target of its storage, and environment, with the site that has lost it."""
    described = site.described
    for name, one in described.partitions.items():
        for key in ("features", "environments", "storage"):
            held = getattr(one, key)
            for item in held:
                kept = [other for other in held if other != item]
                left = {other: held[other] for other in kept} if key == "storage" else kept
                measured = key != "storage" or held[item].measured
                if measured and not (key == "environments" and not left):
                    partition = structs.replace(one, **{key: left})
                    partitions = {**described.partitions, name: partition}
                    yield name, item, structs.replace(described, partitions=partitions)
    for name, one in described.environments.items():
        for feature in one.features:
            environment = structs.replace(one, features=[other for other in one.features if other != feature])
            environments = {**described.environments, name: environment}
            yield "", feature, structs.replace(described, environments=environments)


@pytest.mark.parametrize("name", REAL)
def test_a_feature_that_is_lost_makes_no_run_smaller_in_silence(name):
    site = Site(SITES / name)
    whole = {mode: site.modes[mode] for mode in ("smoke", "nightly", "full")}
    seen = 0
    for partition, lost, described in losses(site.description):
        less = type(site.description)(site.folder, described, site.description.by_fact)
        for mode, families in whole.items():
            found = expected_families(less, site.expected, mode)
            if found == families:
                continue
            seen += 1
            one = described.partitions.get(partition)
            cores = one.cores if one else None
            derived = derived_features(one.nodes, cores.sockets, cores.numa_domains or 0) if cores else {}
            assert lost in derived or unexplained(less, site.expected, mode), (partition, lost, mode)
    assert seen > 20
