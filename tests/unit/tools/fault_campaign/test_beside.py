"""The load beside a campaign: it runs, ends with the campaign, and is verified."""

import os
import pathlib
import sys

import pytest

from tests.fault_campaign import beside as module
from tests.fault_campaign.__main__ import main
from tests.fault_campaign.beside import beside
from tests.fault_campaign.cluster import CampaignError
from tests.waiting import until


def processes_below(folder: pathlib.Path) -> list[pathlib.Path]:
    """Folders in /proc of the loads that were started for ``folder``."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_text().replace("\0", " ")
        except OSError:
            continue
        if str(folder) in line and module.__name__ in line:
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
    ended = pytest.raises(CampaignError, match="the load disk ended too early")
    with ended, beside(("disk",), tmp_path, seconds=0) as [load]:
        os.waitid(os.P_PID, load, os.WEXITED | os.WNOWAIT)  # as a zombie, which its parent has still to see


def test_the_command_beside_it_gives_the_exit_status():
    """Words after -- belong to the command, even another --."""
    command = [sys.executable, "-c", "import sys; raise SystemExit(sys.argv[1:] == ['-n', '--', 'x'] and 3)"]
    assert main(["beside", "memory,disk", "--", *command, "-n", "--", "x"]) == 3
