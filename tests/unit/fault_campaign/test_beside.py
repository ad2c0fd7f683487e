"""The load beside a campaign: it is there, ends with what it is beside, and nobody takes it for granted."""

import argparse
import os
import pathlib
import subprocess
import sys

import pytest

from tests.fault_campaign import beside as module
from tests.fault_campaign.beside import LOADS, beside, names
from tests.fault_campaign.cluster import REPOSITORY, CampaignError
from tests.waiting import PATIENCE_S, until


def processes_below(folder: pathlib.Path) -> list[pathlib.Path]:
    """Folders in /proc of the loads that were started for ``folder``."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_text().replace("\0", " ")
        except OSError:
            continue
        if str(folder) in line and module.MODULE in line:
            found.append(process)
    return found


def test_it_runs_beside_and_ends_with_it(tmp_path):
    with beside(("disk",), tmp_path):
        [place] = tmp_path.iterdir()
        written = place / "disk/written"
        until(lambda: written.exists() and written.stat().st_size > 0, "something is written")
        assert len(processes_below(tmp_path)) == 1
    assert (processes_below(tmp_path), list(tmp_path.iterdir())) == ([], [])


def test_a_load_that_ended_before_is_an_error(tmp_path):
    ended = pytest.raises(CampaignError, match="the load disk ended before")
    with ended, beside(("disk",), tmp_path, seconds=0) as [load]:
        os.waitid(os.P_PID, load, os.WEXITED | os.WNOWAIT)  # as a zombie, which its parent has still to see


def test_names_of_loads():
    assert names("build,memory,disk") == tuple(LOADS)
    for wrong in ("", "build,network"):
        with pytest.raises(argparse.ArgumentTypeError, match="expected some of build,memory,disk"):
            names(wrong)


def test_the_command_beside_it_gives_the_exit_status():
    command = [sys.executable, "-m", module.MODULE, "memory", "--", sys.executable, "-c", "raise SystemExit(3)"]
    assert subprocess.run(command, cwd=REPOSITORY, timeout=PATIENCE_S, check=False).returncode == 3


def test_the_campaign_says_what_it_takes():
    command = [sys.executable, "-m", "tests.fault_campaign", "--beside", "network"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 2 and "expected some of build,memory,disk" in done.stderr
