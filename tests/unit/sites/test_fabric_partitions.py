"""Each fabric of a site's folder is a partition, and each variant of it another."""

import shutil

import pytest
import yaml

from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import SUITE as REPOSITORY
from kappa.core.sites.site_file import MORE_FABRICS, describe
from reframe_checks.base.site_settings import MODE_VARIABLE, settings_of

SIMULATED = REPOSITORY / "site_configs/simulated"


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "site_configs/own"
    (folder / "fabrics").mkdir(parents=True)
    document = yaml.safe_load((SIMULATED / "site.yaml").read_text())
    (folder / "site.yaml").write_text(yaml.safe_dump({**document, "partitions": {}}))
    shutil.copy(SIMULATED / "fabrics/hdr-8.yaml", folder / "fabrics")
    return folder


def partitions(site):
    return describe(site).described.partitions


def test_a_fabric_is_a_partition_and_so_is_each_variant(site):
    found = partitions(site)
    assert set(found) == {"hdr-8", "hdr-8-shared"}
    sound = found["hdr-8"]
    assert (sound.nodes, sound.cores.per_node, sound.scheduler, sound.launcher) == (8, 6, "local", "smpirun")
    assert {"simulated", "scale_whole_partition"} <= set(sound.features)
    assert (sound.fabric.variant, found["hdr-8-shared"].fabric.variant) == ("sound", "shared")


def test_what_the_site_says_of_one_goes_before_what_it_says_of_all(site):
    document = yaml.safe_load((site / "site.yaml").read_text())
    document["partitions"] = {"hdr-8-shared": {"modes": ["smoke"]}}
    (site / "site.yaml").write_text(yaml.safe_dump(document))
    assert partitions(site)["hdr-8-shared"].modes == ["smoke"]


def test_a_partition_is_there_in_its_modes_only(site, monkeypatch, tmp_path):
    def names():
        return {one["name"] for one in settings_of(describe(site), tmp_path)["systems"][0]["partitions"]}

    monkeypatch.setenv(MODE_VARIABLE, "nightly")
    assert names() == {"hdr-8"}
    monkeypatch.setenv(MODE_VARIABLE, "full")
    assert names() == {"hdr-8", "hdr-8-shared"}
    monkeypatch.delenv(MODE_VARIABLE)
    assert names() == {"hdr-8", "hdr-8-shared"}


def test_further_folders_add_fabrics(site, tmp_path, monkeypatch):
    more = tmp_path / "more"
    more.mkdir()
    text = (SIMULATED / "fabrics/hdr-8.yaml").read_text().replace("name: hdr-8", "name: mine")
    (more / "mine.yaml").write_text(text)
    monkeypatch.setenv(MORE_FABRICS, str(more))
    assert {"hdr-8", "mine"} <= set(partitions(site))


def test_a_broken_fabric_is_named_with_its_line(site):
    path = site / "fabrics/hdr-8.yaml"
    path.write_text(path.read_text().replace("cable_latency_us", "cable_latency"))
    with pytest.raises(InputError, match=r"fabrics/hdr-8\.yaml: line \d+: link\.cable_latency: unknown key"):
        describe(site)


def test_a_folder_without_fabrics_is_refused(site):
    (site / "fabrics/hdr-8.yaml").unlink()
    with pytest.raises(InputError, match="expected YAML files of fabrics"):
        describe(site)


def test_smpirun_needs_a_fabric(site):
    document = yaml.safe_load((site / "site.yaml").read_text())
    document["partitions"] = {"other": {"nodes": 1, "cores": {"per_node": 1}, "launcher": "smpirun", "features": []}}
    (site / "site.yaml").write_text(yaml.safe_dump(document))
    with pytest.raises(InputError, match=r"partitions.other.launcher: smpirun needs `fabric`"):
        describe(site)
