"""The conductor of a night with ReFrame replaced by a script."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from tests.hardening.test_validate import REPORT, REPOSITORY, tree
from tests.unit.nightly.samples import pinned
from tests.unit.reports import samples

__all__ = ["tree"]


def on_one_node():
    entry = samples.latency()
    return {**entry, "name": "OsuLatency %placement=same_node", "placement": "same_node"}


@pytest.fixture
def site(tree):
    """A site of which ReFrame finds the same each night: all is well, and so it is on each of the single nodes."""
    shutil.copy(REPOSITORY / "site_configs/nightly", tree / "site_configs/nightly")
    shutil.copytree(REPOSITORY / "site_configs/nightly_lib", tree / "site_configs/nightly_lib")
    (tree / "main.json").write_text(json.dumps(samples.complete(on_one_node())))
    (tree / "turn.json").write_text(json.dumps(samples.report([pinned(on_one_node(), "node1")])))
    reframe(tree, "true")
    # What `validate` says and draws takes seconds, and is not the night's.
    (tree / ".venv/bin/python").write_text(
        f"#!/bin/sh\ncase $3 in verdict | html | confirm) exit 0 ;; esac\nexec '{sys.executable}' \"$@\"\n"
    )
    return tree


def reframe(tree, in_turn):
    """``in_turn``: what the stub does besides when it measures single nodes."""
    script = tree / ".venv/bin/reframe"
    script.write_text(
        f"#!/bin/bash\n{REPORT}cd {tree}\nmade=main.json\n"
        f'case $* in *--distribute*) made=turn.json; {in_turn} ;; esac\ncat $made > "$report"\n'
    )
    script.chmod(0o755)


def command(tree, *options):
    return [sys.executable, tree / "site_configs/nightly", "embedded", *options]


def environment(tree):
    return {**os.environ, "KAPPA_RESULTS": str(tree / "results")}


def nightly(tree, *options):
    return subprocess.run(
        command(tree, *options), env=environment(tree), capture_output=True, text=True, timeout=300, check=False
    )


def test_single_nodes_are_measured_under_the_lock_of_validate(site):
    reframe(site, "flock --nonblock results/lock true || touch held")
    nightly(site)
    assert (site / "held").exists()
    assert json.loads(next(site.glob("results/nights/*/night.json")).read_text())["planned"] == ["node1"]
