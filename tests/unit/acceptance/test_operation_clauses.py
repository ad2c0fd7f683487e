"""Clauses about operation in a contract: accepted ones, and errors that name their line."""

import pytest

from kappa.core.ground.errors import InputError
from reports.acceptance import plan
from reports.acceptance.listing import show_plan

GOOD = """\
contract:
  title: Test
  system: embedded
  date: 2026-11-21
  parties: {buyer: B}
clauses:
  - id: M1
    text: It is busy.
    mix:
      nodes: 4
      options: [--partition=scratch]
      efficiency: 0.8
      limit_s: 400
      repeats: 3
      jobs:
        - {nodes: 1, seconds: 20, count: 8}
        - {share: 1, seconds: 10, count: 2}
    mandatory: true
  - id: T1
    text: It is back soon.
    duration: {of: restart, at_most_s: 60, repeats: 6, load: 2}
    mandatory: true
"""


def test_what_is_read(load):
    mix, time = load(GOOD).clauses
    assert mix.block is mix.operation is mix.mix and time.block is time.duration
    assert (mix.threshold, mix.unit, mix.comparison, mix.repeats) == (0.8, "", "at_least", 3)
    assert (time.threshold, time.unit, time.comparison, time.repeats) == (60, "s", "at_most", 6)
    assert time.holds(60) and not time.holds(60.1)
    assert [job.limit_min for job in mix.mix.queue if job.seconds == 20] == [1] * 8


def test_the_plan_prints_each_clause_once(load, capsys):
    contract = load(GOOD)
    show_plan(contract, plan.plan(contract, [], {}))
    printed = capsys.readouterr().out
    assert [printed.count(f"  {one.id} {one.statistic} {one.requirement}\n") for one in contract.clauses] == [1, 1]


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("nodes: 1, ", "nodes: 5, ", 9, "jobs: expected at most the 4 nodes of the machine, found 5"),
        ("nodes: 1, ", "", 16, "expected either nodes or share"),
        ("share: 1,", "share: 1, nodes: 4,", 17, "expected either nodes or share"),
        ("share: 1,", "share: 1.5,", 17, "expected a share above 0 and at most 1, found 1.5"),
        ("count: 8", "count: 10000", 9, "expected at most 10000 jobs"),
        ("seconds: 20", "seconds: 0", 16, "expected integer >= 1, found 0"),
        ("efficiency: 0.8", "efficiency: 80", 12, "expected an efficiency above 0 and at most 1, found 80"),
        ("--partition=scratch", "partition=scratch", 11, "expected a long option of sbatch"),
        ("--partition=scratch", "--nodes=2", 9, "options: Kappa sets --nodes itself; remove it"),
        ("      limit_s: 400\n", "", 9, "'limit_s' is a required property"),
        ("of: restart", "of: upgrade", 21, "expected restart or failover or reboot or start, found 'upgrade'"),
        ("of: restart", "of: start", 21, "load: expected jobs that go on with restart or failover only, found start"),
        ("at_most_s: 60", "at_most_s: 0", 21, "expected seconds above 0, found 0"),
        ("true\n  - id: T1", "true\n    repeats: 3\n  - id: T1", 7, "found more than one"),
        ("    duration:", "    repeats: 2\n    duration:", 19, "found more than one"),
    ],
)  # fmt: skip
def test_an_error_names_its_line(load, old, new, line, words):
    assert old in GOOD
    with pytest.raises(InputError, match=r"acceptance\.yaml: line ") as error:
        load(GOOD.replace(old, new, 1))
    assert words in str(error.value)
    assert f"line {line}: " in str(error.value)
