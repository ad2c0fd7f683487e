"""Results reported as finished are on the disk, not in the memory of a machine that may lose its power."""

import os
import sys

import pytest

from kappa.app.conduct.acceptance import run_attempt
from kappa.app.conduct.session import CHECKS, Conductor
from kappa.core.ground.processes import Stop
from kappa.core.sites.load import Site
from reports.acceptance.campaign.layout import REPORT
from reports.acceptance.dossier import write_dossier
from tests.unit.reports.samples import latency

WRITES = """\
#!/bin/sh
mkdir output
echo '{}' | tee output/result.json > run-report.json.part
"""


@pytest.fixture
def synced(monkeypatch):
    """Inode of all that was synced, and whether ``synced.target`` was there then."""

    class Synced(dict):
        target = None

    inodes, fsync = Synced(), os.fsync

    def record(handle):
        inodes[os.fstat(handle).st_ino] = inodes.target is not None and inodes.target.exists()
        fsync(handle)

    monkeypatch.setattr(os, "fsync", record)
    return inodes


def test_dossier_is_on_the_disk_before_it_has_its_name(campaign, tmp_path, synced):
    attempt = campaign.add(latency())
    (attempt.folder / "result.json").write_text("{}")
    synced.clear()
    synced.target = tmp_path / "d"
    write_dossier(campaign, tmp_path / "d", pdf=False, how_signed=None)
    inodes = [path.stat().st_ino for path in [tmp_path / "d", *(tmp_path / "d").rglob("*")]]
    assert [synced.get(inode) for inode in inodes] == [False] * len(inodes)
    assert synced[tmp_path.stat().st_ino], "and the name after it"


def test_files_of_a_session_are_on_the_disk(campaign, monkeypatch, tmp_path, synced):
    program = tmp_path / "reframe"
    program.write_text(WRITES)
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    attempt = campaign.add(None)
    synced.clear()
    with campaign.locked() as lock:
        run_attempt(Site(campaign.folder), campaign.contract, CHECKS, attempt, Conductor(Stop(), [lock]))
    written = [attempt.folder, attempt.folder / "output/result.json", attempt.folder / REPORT]
    assert {path.stat().st_ino for path in written} <= set(synced)
