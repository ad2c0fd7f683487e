"""What runs on a node and differs from the others is named with the node; modules load by Lmod itself."""

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
modules_system: lmod
partitions:
  scratch:
    nodes: {fact: nodes}
    cores: {per_node: {fact: cores_per_node}}
    environments: [demo]
    features: [scale_each_node]
    prepare_cmds: [source /etc/profile.d/lmod.sh]
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
def test_modules_load_on_every_node(suite, tmp_path):
    tree, site = tmp_path / "modulefiles", tmp_path / "site_configs/with-modules"
    (tree / "demo").mkdir(parents=True)
    (tree / "demo/1.0.lua").write_text('prepend_path("PATH", "/opt/demo/bin")\n')
    (site / "references").mkdir(parents=True)
    (site / "references/node.yaml").write_text("$sources: []\n")
    (site / "site.yaml").write_text(SITE_WITH_MODULES)
    shutil.copy(SITE / "settings.py", site)
    assert LMOD.exists(), "apt install lmod, as site_configs/embedded/install-packages --tests does"
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
    assert 'unknown: "demo/1.0"' in said.replace("\\", "")
