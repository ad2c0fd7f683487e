"""``site.yaml``: mistakes that once were silent, what contradicts itself, and what ReFrame is given."""

import pathlib
import shutil

import pytest
import yaml

from kappa.core.ground.errors import InputError
from kappa.core.sites.facts import PROVIDERS
from kappa.core.sites.load import Site
from kappa.core.sites.site_file import describe
from reframe_checks.base.site_settings import settings_of

REPOSITORY = pathlib.Path(__file__).parents[3]
SETTINGS = REPOSITORY / "site_configs/embedded/settings.py"
GOOD = """\
descr: a site
partition_defaults:
  cores: {per_node: 8, sockets: 2, numa_domains: 2}
partitions:
  cpu:
    nodes: 4
    environments: [system]
    features: [scale_one_node, scale_two_nodes, network]
    uniform_files: [/usr/lib/libmpi.so]
    storage: {shared: {path: /shared, parallel: true}}
    tuning: {OsuBandwidth: {window: 16}}
environments:
  system:
    features: [osu, hpl]
    hpl: xhpl
"""
EXPECTED = """\
default_mode: smoke
not_provided: {nvidia: no GPU}
left_out: [{features: [collectives], partitions: [cpu], why: no time}]
"""


@pytest.fixture
def site(tmp_path):
    """Writes a site and returns its folder."""

    def written(old="", new="", expected=EXPECTED):
        folder = tmp_path / "site_configs/here"
        folder.mkdir(parents=True, exist_ok=True)
        assert old in GOOD
        (folder / "site.yaml").write_text(GOOD.replace(old, new, 1) if old else GOOD)
        (folder / "expected.yaml").write_text(expected)
        (folder / "settings.py").write_text(SETTINGS.read_text())
        return folder

    return written


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("uniform_files", "uniform_file", 9, "unknown key 'uniform_file': did you mean 'uniform_files'?"),
        ("OsuBandwidth", "OsuBandwith", 11, "unknown check 'OsuBandwith': did you mean 'OsuBandwidth'?"),
        ("window: 16", "windw: 16", 11, "unknown variable of OsuBandwidth 'windw': did you mean 'window'?"),
        ("window: 16", "window: many", 11, "tuning.OsuBandwidth.window: Expected int, got str, found 'many'"),
        ("nodes: 4", "nodes: 4\n    also_in: {nihtly: [Hpl]}", 7, "unknown mode 'nihtly': did you mean 'nightly'?"),
        ("nodes: 4", "nodes: 4\n    not_in: {full: [Hpl]}", 7, "expected another mode: full runs everything"),
        ("nodes: 4", "nodes: 4\n    also_in: {nightly: [Hlp]}", 7, "unknown check 'Hlp': did you mean 'Hpl'?"),
        ("scale_two_nodes", "scale_two_node", 8, "unknown partition feature 'scale_two_node': did you mean"),
        ("nodes: 4", "nodes: 1", 8, "scale_two_nodes contradicts nodes, which is 1"),
        ("network]", "network, nvidia]", 8, "nvidia needs the key gpus_per_node"),
        ("network]", "network, gdrcopy]", 8, "gdrcopy needs nvidia, which `features` lacks"),
        ("nodes: 4", "nodes: 4\n    gpus_per_node: 4", 7, "contradicts `features`, which lacks nvidia"),
        ("network]", "network, placement_same_switch]", 8, "needs the key placements: {same_switch: [OPTION"),
        ("nodes: 4", "nodes: 4\n    placements: {same_switch: [-w a]}", 7, "which lacks placement_same_switch"),
        ("network]", "network, placement_gpus_other_socket]", 8, "needs the key gpus_of_sockets"),
        ("network]", "network, storage_shared]", 8, "storage_shared is made from `storage`"),
        ("{shared: {path: /shared", "{scratch: {path: /shared", 10, "each node has scratch alone"),
        ("    hpl: xhpl", "    hpl: xhpl\n    modules: [openmpi/5]", 16, "modules need a module system: set"),
        ("path: /shared", "path: shared", 10, "storage.shared.path: Expected str matching regex '^/'"),
        (
            "path: /shared",
            "path: /shared, lustre: {stripe_count: 1, stripe_size: 65536, osst: 8, servers: 2}",
            10,
            "storage.shared.lustre: expected both osts and servers, or neither",
        ),
        ("{shared: {", "{shard: {", 10, "unknown storage target 'shard': did you mean 'shared'?"),
        ("environments: [system]", "environments: [sytem]", 7, "unknown environment 'sytem': did you mean 'system'?"),
        ("per_node: 8", "per_node: 9", 3, "expected a divisor of per_node, 9, found 2"),
        ("cores:", "core:", 3, "unknown key 'core': did you mean 'cores'?"),
        ("partition_defaults", "partition_default", 2, "did you mean 'partition_defaults'?"),
        ("    hpl: xhpl\n", "", 14, "hpl needs the key hpl"),
        ("hpl: xhpl", "hpl: xhlp", 15, "unknown name 'xhlp': did you mean 'xhpl'?"),
        ("    hpl: xhpl", "    hpl: xhpl\n    cxx: g++ -O3", 16, "cxx: Expected str matching regex"),
        ("[osu, hpl]", "[osu]", 15, "contradicts `features`, which lacks hpl"),
        ("nodes: 4", "nodes: {fact: nodes}", 6, "unknown fact 'nodes'"),
        ("descr: a site", "descr: a site\nfacts: embeded-cluster", 2, "did you mean 'embedded-cluster'?"),
        ("descr: a site", "descr: a site\nspack: {instaled_only: true}", 2, "did you mean 'installed_only'?"),
        ("nodes: 4", "nodes: 4\n    launcher: srum", 7, "unknown name 'srum': did you mean 'srun'?"),
        ("network]", "network, network]", 8, "expected each item once, found 'network' again"),
    ],
)
def test_what_is_unknown_or_contradictory_is_refused(site, old, new, line, words):
    folder = site(old, new)
    with pytest.raises(InputError) as refused:
        Site(folder).require_sound()
    problems = str(refused.value).splitlines()
    assert any(one.startswith(f"{folder / 'site.yaml'}: line {line}: ") and words in one for one in problems), problems


def test_a_placement_needs_parts_of_a_node(site):
    folder = site("network]", "network, placement_other_numa]")
    describe(folder)
    path = folder / "site.yaml"
    path.write_text(path.read_text().replace(", numa_domains: 2", ""))
    with pytest.raises(InputError, match=r"line 8: .*placement_other_numa needs the key cores.numa_domains"):
        describe(folder)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("nvidia: no GPU", "storage_shared: none", "line 2: .*contradicts site.yaml, where the site has it"),
        ("nvidia: no GPU", "osu: none", "line 2: .*contradicts site.yaml"),
        ("[cpu]", "[cpus]", "line 3: .*unknown partition of the site 'cpus': did you mean 'cpu'?"),
        ("collectives", "network", "line 3: left_out.0.features.0: contradicts site.yaml, where cpu has network"),
        ("[collectives], partitions: [cpu]", "[network]", "line 3: .*where cpu has network"),
        ("collectives", "osu", "line 3: left_out.0.features.0: contradicts site.yaml, where cpu has osu"),
        (
            "partitions: [cpu]",
            "partitions: [cpu], families: [network/osu-collective]",
            "line 3: left_out.0.features.0: contradicts site.yaml, where cpu does not have collectives",
        ),
    ],
)
def test_expectations_fit_the_site(site, old, new, words):
    with pytest.raises(InputError, match=f"expected.yaml: {words}"):
        _ = Site(site(expected=EXPECTED.replace(old, new, 1))).expected


def test_no_gpu_does_not_stay_in_force_when_gpus_are_added(site):
    folder = site("network]", "network, nvidia]\n    gpus_per_node: 4")
    with pytest.raises(InputError, match=r"expected.yaml: line 2: not_provided.nvidia: contradicts site.yaml"):
        _ = Site(folder).expected


def test_facts_of_the_machine_contradict_nothing(site, monkeypatch):
    monkeypatch.setitem(PROVIDERS, "embedded-cluster", lambda _: {"nodes": 1, "gpus": ["nvidia"]})
    folder = site("descr: a site", "descr: a site\nfacts: embedded-cluster")
    path = folder / "site.yaml"
    text = path.read_text().replace("nodes: 4", "nodes: {fact: nodes}\n    gpus_per_node: 1")
    path.write_text(text.replace("network]", "network, {fact: gpus}]"))
    found = Site(folder).description
    assert found.described.partitions["cpu"].nodes == 1
    assert "nvidia" in found.features_of("cpu")
    assert "nvidia" not in found.stated_features()


def test_an_environment_names_its_compilers(site, tmp_path):
    made = settings_of(describe(site("    hpl: xhpl", "    hpl: xhpl\n    cxx: smpicxx")), tmp_path / "results")
    [environment] = made["environments"]
    assert (environment["cxx"], environment["extras"]["cxx"]) == ("smpicxx", "smpicxx")
    assert "cc" not in environment


def test_what_reframe_is_given(site, tmp_path):
    made = settings_of(describe(site()), tmp_path / "results")
    [partition] = made["systems"][0]["partitions"]
    assert made["systems"][0]["name"] == "here"
    assert partition["access"] == ["--partition=cpu --no-requeue"]
    assert {"scale_two_nodes", "storage_shared", "parallel_shared"} <= set(partition["features"])
    assert partition["extras"]["storage"] == {"shared": "/shared"}
    assert partition["processor"]["topology"]["numa_nodes"] == ["0xf", "0xf0"]
    assert made["environments"][0]["extras"] == {"hpl": "xhpl"}
    assert {mode["name"] for mode in made["modes"]} >= {"smoke", "nightly", "acceptance", "full"}


@pytest.mark.parametrize("name", ["embedded", "cpu-infiniband", "ibisco-like"])
def test_settings_are_the_same_few_lines_everywhere(name):
    text = (REPOSITORY / "site_configs" / name / "settings.py").read_text()
    assert text == SETTINGS.read_text()
    assert len([line for line in text.splitlines() if line]) == 4
    assert yaml.safe_load((REPOSITORY / "site_configs" / name / "site.yaml").read_text())["descr"]


@pytest.mark.parametrize(("there", "offered"), [(("lmp", "icoFoam"), True), (("lmp",), False), ((), False)])
def test_applications_of_the_embedded_site_are_offered_when_all_are_installed(monkeypatch, there, offered):
    which = shutil.which

    def found(name):
        return which(name) if name not in ("lmp", "icoFoam") else "/usr/bin/" + name if name in there else None

    monkeypatch.setattr(shutil, "which", found)
    site = Site(SETTINGS.parent)
    assert ("applications" in site.description.features_of("applications")) is offered
    families = {"application/lammps", "application/openfoam"}
    lacking = {one.features for one in site.unexplained("full") if one.partition == "applications"}
    # Either they have to run, or the verdict says that they are lacking.
    assert (families <= {*site.modes["full"]}, lacking) == ((True, set()) if offered else (False, {("applications",)}))
    assert "make validate MODE=full" in site.expected.reasons["applications"]
    for mode in ("nightly", "acceptance"):
        assert not families & {*site.modes[mode]} and site.unexplained(mode) == []
