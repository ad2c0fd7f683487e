"""The means to measure an operation: waiting, jobs that Slurm accepts or refuses, and an operator's command."""

import itertools
import sys
import types

import pytest

from kappa.app.conduct import operation_bench
from kappa.app.conduct.node_commands import CommandError
from kappa.app.conduct.operation_bench import SlurmBench
from kappa.app.conduct.session import Conductor
from kappa.core.ground.errors import InputError
from kappa.core.ground.processes import Stop, StoppedError
from tests.waiting import until


@pytest.fixture
def bench(tmp_path, monkeypatch):
    monkeypatch.setattr(operation_bench, "_EACH_S", 0.01)
    return SlurmBench(tmp_path, types.SimpleNamespace(name="x", description=None), Conductor(Stop()))


def answering(bench, *answers):
    """Let each command give the next answer, in a circle."""
    turn = itertools.cycle(answers)
    bench._commands = types.SimpleNamespace(sacct=("sacct", "--clusters=c"), run=lambda _: next(turn))
    return bench


def test_until_ends_with_success_patience_or_a_stop(bench):
    looks = iter([False, False, True])
    assert bench.until(lambda: next(looks), 60)
    assert not bench.until(lambda: False, 0)
    bench._conductor.stop.told(15)
    with pytest.raises(StoppedError):
        bench.until(lambda: False, 60)


def test_site_without_description_is_refused_when_slurm_is_asked(bench):
    with pytest.raises(InputError, match=r"the site x has no site\.yaml"):
        bench.run(("squeue",))


@pytest.mark.parametrize(("answer", "job"), [("12\n", "12"), ("12;cluster\n", "12")])
def test_submission_returns_the_id(bench, answer, job):
    assert answering(bench, answer).submit(("sbatch",)) == job


@pytest.mark.parametrize("answer", ["", "error\n", "-1\n"])
def test_submission_without_an_id_is_refused(bench, answer):
    with pytest.raises(CommandError):
        answering(bench, answer).submit(("sbatch",))


def test_probe_sends_jobs_also_while_slurm_refuses(bench):
    with answering(bench, "7\n", "error\n").probe(("sbatch",)) as probes:
        until(lambda: {probe.job for probe in probes} == {"7", ""}, "jobs were accepted and refused")
    assert all(probe.answered >= probe.sent for probe in probes)


def test_operator_command_is_started(bench):
    status = bench.start([sys.executable, "-c", "raise SystemExit(3)"])
    until(lambda: status() is not None, "the command ended")
    assert status() == 3
    with pytest.raises(InputError, match="no-such-program"):
        bench.start(["no-such-program"])
