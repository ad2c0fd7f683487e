"""What a night runs, with `validate` and `reports` replaced by scripts that record how they were called."""

import json
import signal

import pytest

from site_configs.nightly_lib.conduct import conduct
from site_configs.nightly_lib.options import parse


@pytest.fixture
def repository(tmp_path):
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    record = f'echo "$KAPPA_RUN|$KAPPA_UNJUDGED|$*" >> {tmp_path}/called; [ -d "$KAPPA_RUN" ]'
    plan = 'case $* in *nightly-plan*) printf "cpu\\tnode1,node2\\ngpu\\tnode3\\n" ;; esac'
    scripts = {"site_configs/validate": record, ".venv/bin/python": plan, ".venv/bin/reframe": "false"}
    for name, text in scripts.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
    yield tmp_path
    for number, handler in before.items():
        signal.signal(number, handler)


def calls(repository, *arguments):
    with (repository / "lock").open("w") as lock:
        conduct(parse(["embedded", *arguments]), repository, repository / "results", lock.fileno(), lambda: "")
    return [line.split("|") for line in (repository / "called").read_text().splitlines()]


def test_nodes_whose_turn_it_is_are_confirmed_as_the_mode_is(repository):
    mode, cpu, gpu = calls(repository, "--", "-S", "A.a=1")
    [night] = (repository / "results/nights").iterdir()
    select = "embedded nightly -t scale_one_node --distribute=all --system=embedded"
    assert mode == [str(night), "", "embedded nightly -S A.a=1"]
    assert cpu == [f"{night}/rotation/cpu", "yes", f"{select}:cpu -J nodelist=node1,node2 -S A.a=1"]
    assert gpu == [f"{night}/rotation/gpu", "yes", f"{select}:gpu -J nodelist=node3 -S A.a=1"]
    record = json.loads((night / "night.json").read_text())
    assert (record["planned"], record["cut"]) == (["node1", "node2", "node3"], "")


def test_no_rotation(repository):
    assert len(calls(repository, "--nights=0")) == 1
