"""A site as ReFrame takes it: mistakes are said before anything runs, and the documentation's example is a site."""

import pathlib
import re
import shutil
import subprocess
import sys

from kappa.core.sites.load import Site
from tests.sites.dry_run import REPOSITORY, SITES

SETTINGS = SITES / "embedded/settings.py"


def reframe(folder, *arguments):
    return subprocess.run(
        [
            pathlib.Path(sys.executable).with_name("reframe"), "--nocolor", "-C", folder / "settings.py",
            "-c", REPOSITORY / "reframe_checks", "-R", "--prefix", folder, *arguments,
        ],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_reframe_ends_with_the_message_alone(tmp_path):
    folder = shutil.copytree(SITES / "cpu-infiniband", tmp_path / "site_configs/cpu-infiniband")
    (folder / "site.yaml").write_text((folder / "site.yaml").read_text().replace("descr:", "desrc:"))
    done = reframe(folder, "-l")
    assert done.returncode == 1
    assert re.search(r"site\.yaml: line \d+: desrc: unknown key 'desrc'", done.stdout + done.stderr), done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_the_example_of_the_documentation_is_a_site(tmp_path):
    """A site by docs/site-reference.md alone: its three files and the settings of any site."""
    text = (REPOSITORY / "docs/site-reference.md").read_text(encoding="utf-8")
    example = text[text.index("## An example from nothing") : text.index("## site.yaml")]
    files = re.findall(r"`site_configs/(tiny/\S+\.yaml)`:\n\n```yaml\n(.*?)```", example, re.DOTALL)
    assert [name for name, _ in files] == ["tiny/site.yaml", "tiny/expected.yaml", "tiny/references/node.yaml"]
    for name, content in files:
        path = tmp_path / "site_configs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    folder = tmp_path / "site_configs/tiny"
    (folder / "settings.py").write_text(SETTINGS.read_text())
    site = Site(folder)
    site.require_sound()
    nodes = {"node/partition-state", "node/health", "node/job-turnaround", "node/software"}
    network = {"network/osu-pt2pt", "network/node-links", "network/peer-exchange"}
    assert {*site.modes["smoke"]} == nodes | network | {"storage/fio"}
    assert site.unexplained("smoke") == []
    done = reframe(folder, "--dry-run", "--mode=smoke")
    assert done.returncode == 0, done.stdout + done.stderr
    for check in ("PartitionState", "PartitionHealth", "OsuLatency", "NodeLinks", "Fio"):
        assert f"] {check}" in done.stdout, done.stdout
