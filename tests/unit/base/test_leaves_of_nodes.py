"""A job and the judge of kappa-measure pairs read the same leaf switches from the same text."""

import os
import subprocess

import pytest

from reframe_checks.base.job_files import FOLDER
from reframe_checks.parsers import slurm
from tests.unit.conftest import DATA

# As Slurm's own for the lists in these texts: a prefix and one range.
SCONTROL = """\
#!/bin/bash
[[ $1 == show && $2 == hostnames && $3 =~ ^([a-z]+)\\[([0-9]+)-([0-9]+)\\]$ ]] || exit 1
for number in $(seq "${BASH_REMATCH[2]}" "${BASH_REMATCH[3]}"); do echo "${BASH_REMATCH[1]}$number"; done
"""


@pytest.mark.parametrize("name", ["scontrol_three_leaves.txt", "composed_blocks.txt", None])
def test_leaves_are_those_of_the_parser(tmp_path, name):
    text = (DATA / "topology" / name).read_text() if name else ""
    (tmp_path / "topology.txt").write_text(text)
    scontrol = tmp_path / "scontrol"
    scontrol.write_text(SCONTROL)
    scontrol.chmod(0o755)
    done = subprocess.run(
        ["bash", FOLDER / "leaves_of_nodes.sh", tmp_path / "topology.txt"],
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert dict(line.split() for line in done.stdout.splitlines()) == slurm.leaf_switches(text)
