"""A check of the nodes has a case on every partition that offers what it needs, in the first environment there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_S

REPOSITORY = Path(__file__).parents[3]
SETTINGS = """
def partition(name, environs, features):
    return {"name": name, "scheduler": "local", "launcher": "local", "environs": environs, "features": features}


site_configuration = {
    "systems": [{"name": "here", "hostnames": [".*"], "partitions": [
        partition("one", ["b", "a", "c"], ["scale_each_node"]),
        partition("two", ["b", "c"], ["scale_each_node", "nvidia"]),
        partition("three", ["d", "a"], ["scale_each_node"]),
        partition("none", ["c"], []),
    ]}],
    "environments": [{"name": name} for name in "abcd"],
}
"""


@pytest.mark.parametrize(
    ("check", "expected"),
    [("PartitionHealth", ["one+b", "three+d", "two+b"]), ("GpuInventory", ["two+b"])],
)
def test_first_environment_of_each_partition(check, expected, tmp_path):
    (tmp_path / "settings.py").write_text(SETTINGS)
    done = subprocess.run(
        [
            Path(sys.executable).with_name("reframe"), "-C", tmp_path / "settings.py", "-c",
            REPOSITORY / "reframe_checks/node", "--prefix", tmp_path, "-n", f"^{check}", "-lC",
        ],
        cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(re.findall(r"^- \w+ .*@here:(\S+)$", done.stdout, re.MULTILINE)) == expected, done.stdout
