"""A site's own cluster is started if it is down; only the process that started it ends it."""

import os

import pytest

from kappa.app.conduct.own_cluster import cluster_up
from kappa.core.ground.errors import InputError

# As the embedded one: 3 is not up, 1 is up in part.
CLUSTER = """#!/bin/sh
echo "$*" >> {folder}/calls
case $1 in
    up) {up}; echo 0 > {folder}/state ;;
    down) echo 3 > {folder}/state ;;
    status) echo '{{"paths": {{"bin": "/its/bin"}}}}'; exit $(cat {folder}/state) ;;
esac
"""


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    monkeypatch.setenv("PATH", os.environ["PATH"])

    def make(state, up="true"):
        (tmp_path / "state").write_text(f"{state}\n")
        (tmp_path / "cluster").write_text(CLUSTER.format(folder=tmp_path, up=up))
        (tmp_path / "cluster").chmod(0o755)
        return tmp_path

    return make


def calls(site):
    return (site / "calls").read_text().splitlines() if (site / "calls").exists() else []


@pytest.mark.parametrize(
    ("state", "stays", "changes"), [(3, False, ["up", "down"]), (3, True, ["up"]), (0, False, []), (1, False, [])]
)
def test_it_is_left_as_it_was_found(site, state, stays, changes):
    with cluster_up(site(state), stays=stays):
        assert os.environ["PATH"].startswith("/its/bin:")
    assert [call for call in calls(site(state)) if call in ("up", "down")] == changes


def test_it_is_ended_after_an_error(site):
    folder = site(3)
    with pytest.raises(ZeroDivisionError), cluster_up(folder):
        raise ZeroDivisionError
    assert calls(folder)[-1] == "down"


def test_one_that_does_not_start_is_an_error(site):
    folder = site(3, up="exit 1")
    with pytest.raises(InputError, match="cluster up` ended with status 1"), cluster_up(folder):
        pass


def test_in_a_job_there_is_a_cluster_and_most_sites_bring_none(site, tmp_path, monkeypatch):
    with cluster_up(tmp_path):
        pass
    folder = site(3)
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    with cluster_up(folder):
        pass
    assert calls(folder) == []
