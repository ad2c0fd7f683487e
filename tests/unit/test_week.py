"""A week of nights that is interrupted leaves no limit on a link."""

import os
import pathlib
import shutil
import subprocess

import pytest

SITE = pathlib.Path(__file__).parents[2] / "site_configs/embedded"


@pytest.mark.parametrize(("ends_in", "limits", "is_up"), [(2, 0, True), (5, 1, True), (5, 1, False), (7, 1, True)])
def test_the_link_is_as_it_was(tmp_path, ends_in, limits, is_up):
    """Night ``ends_in`` cannot run."""
    site, program = tmp_path / "site_configs/embedded", tmp_path / ".venv/bin/kappa"
    for folder in (site, program.parent):
        folder.mkdir(parents=True)
    shutil.copy(SITE / "week", site)
    cluster = f'[ "$1" != status ] || exit {0 if is_up else 1}\necho "$@" >> {tmp_path}/told'
    nightly = (
        f'mkdir -p "$KAPPA_RESULTS/nightly"; echo >> {tmp_path}/nights; touch "$KAPPA_RESULTS/nightly/message.md"\n'
        f"[ $(wc -l < {tmp_path}/nights) -lt {ends_in} ] || exit 75"
    )
    for path, script in ((site / "cluster", cluster), (program, nightly)):
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
    environment = {**os.environ, "KAPPA_RESULTS": str(tmp_path / "results")}
    done = subprocess.run([site / "week"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    told = (tmp_path / "told").read_text().splitlines() if (tmp_path / "told").exists() else []
    assert sum("qdisc add" in line for line in told) == sum("qdisc del" in line for line in told) == limits
    assert ("down" in told) is not is_up
