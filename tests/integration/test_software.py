"""A file that differs on a node is named with the node; modules load by Lmod, or as Tcl modules."""

import pathlib
import random
import shutil

import pytest

from tests.fault_campaign.cluster import Cluster
from tests.fault_campaign.kinds import KINDS
from tests.tiers import long

from .conftest import SITE

LMOD = pathlib.Path("/usr/share/lmod/lmod/libexec/lmod")
SITE_WITH_MODULES = """\
descr: the embedded cluster with a tree of modules
facts: embedded-cluster
path: [{fact: slurm_commands}]
modules_system: MODULES_SYSTEM
partitions:
  scratch:
    nodes: {fact: nodes}
    cores: {per_node: {fact: cores_per_node}}
    environments: [demo]
    features: [scale_each_node]
    prepare_cmds: [source /etc/profile.d/PROFILE]
environments:
  demo: {features: [fio], modules: [demo/1.0]}
"""


def failed(verdict):
    (case,) = (case for case in verdict["cases"] if case["check_class"] == "SoftwareInventory")
    return case["state"] == "fail", case["suspects"], str(case)


REST = [pytest.param(kind, marks=long) for kind in ("other mpirun", "other fio", "header missing")]


@pytest.mark.parametrize("kind", ["other MPI component", *REST])
def test_what_runs_is_compared(suite, kind):
    with KINDS[kind].put(Cluster(suite.state, suite.results), "node2", random.Random(1)):
        _, verdict = suite.run("-n", "SoftwareInventory", "--system=embedded:scratch")
    assert failed(verdict)[:2] == (True, ["node2"]), verdict


@long
@pytest.mark.parametrize(
    ("system", "profile", "file", "text", "unknown"),
    [
        ("lmod", "lmod.sh", "1.0.lua", 'prepend_path("PATH", "/opt/demo/bin")\n', 'unknown: "demo/1.0"'),
        pytest.param(
            "envmod", "modules.sh", "1.0", "#%Module\nprepend-path PATH /opt/demo/bin\n", "locate a modulefile for",
            marks=pytest.mark.skipif(LMOD.exists(), reason="Debian has environment-modules only in the place of Lmod"),
        ),
    ],
)  # fmt: skip
def test_modules_load_on_every_node(suite, tmp_path, system, profile, file, text, unknown):
    tree, site = tmp_path / "modulefiles", tmp_path / "site_configs/with-modules"
    (tree / "demo").mkdir(parents=True)
    (tree / "demo" / file).write_text(text)
    (site / "references").mkdir(parents=True)
    (site / "references/node.yaml").write_text("$sources: []\n")
    described = SITE_WITH_MODULES.replace("MODULES_SYSTEM", system).replace("PROFILE", profile)
    (site / "site.yaml").write_text(described)
    shutil.copy(SITE / "settings.py", site)
    assert pathlib.Path("/etc/profile.d", profile).exists(), (
        "site_configs/embedded/install-packages --tests installs it"
    )
    modules = {"LMOD_CMD": str(LMOD), "MODULEPATH": str(tree)}

    def run():
        return failed(suite.run("-n", "SoftwareInventory", site=site, **modules)[1])

    assert not run()[0]
    suite.cluster("exec", "node2", "mount", "-t", "tmpfs", "tmpfs", str(tree))
    try:
        is_failed, suspects, said = run()
    finally:
        suite.cluster("exec", "node2", "umount", "--lazy", str(tree))
    assert (is_failed, suspects) == (True, ["node2"]), said
    assert unknown in said.replace("\\", "")
