"""Clauses about operation in a contract: accepted ones, and errors that name their line."""

import pytest

from kappa.core.ground.errors import InputError
from reports.acceptance import plan
from reports.acceptance.kinds.clause import Planning
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


def test_terms_are_read(load):
    mix, time = load(GOOD).clauses
    assert (mix.threshold, mix.unit, mix.comparison, mix.repeats, mix.timed) == (0.8, "", "at_least", 3, False)
    assert (time.threshold, time.unit, time.comparison, time.repeats, time.timed) == (60, "s", "at_most", 6, True)
    assert time.holds(60) and not time.holds(60.1)
    assert time.required == "time of restart ≤ 60 s, 2 running jobs go on"


def test_plan_prints_each_clause_once(load, capsys):
    contract = load(GOOD)
    planning = Planning(contract, None, None, None, None)
    planned = plan.plan(planning, [], [])
    show_plan(contract, planned)
    printed = capsys.readouterr().out
    assert [printed.count(f"  {clause.id} {clause.statistic} {clause.required}\n") for clause in contract.clauses] == [
        1,
        1,
    ]
    assert plan.to_document(contract, planned)["mix"][0]["jobs"] == 10


@pytest.mark.parametrize(
    ("old", "new", "line", "problem"),
    [
        ("nodes: 1, ", "nodes: 5, ", 9, "jobs: expected at most the 4 nodes of the machine, found 5"),
        ("nodes: 1, ", "", 16, "expected either nodes or share"),
        ("share: 1,", "share: 1, nodes: 4,", 17, "expected either nodes or share"),
        ("count: 8", "count: 10000", 9, "expected at most 10000 jobs"),
        ("efficiency: 0.8", "efficiency: 80", 12, "expected an efficiency above 0 and at most 1, found 80"),
        ("--partition=scratch", "partition=scratch", 11, "expected a long option of sbatch"),
        ("--partition=scratch", "--nodes=2", 9, "options: Kappa sets --nodes itself; remove it"),
        ("      limit_s: 400\n", "", 9, "'limit_s' is a required property"),
        ("limit_s: 400", "limit_s: 400\n      bounds: {wait: 3}", 14, "expected median_wait_s or p95_wait_s or "),
        ("of: restart", "of: start", 21, "load: expected jobs that go on with restart or failover only, found start"),
        ("true\n  - id: T1", "true\n    repeats: 3\n  - id: T1", 19, "unknown key 'repeats'"),
    ],
)  # fmt: skip
def test_error_names_its_line(load, old, new, line, problem):
    assert old in GOOD
    with pytest.raises(InputError, match=r"acceptance\.yaml: line ") as error:
        load(GOOD.replace(old, new, 1))
    assert problem in str(error.value)
    assert f"line {line}: " in str(error.value)
