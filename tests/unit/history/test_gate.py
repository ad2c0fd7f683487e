import dataclasses
import datetime

import numpy as np
import pytest

from kappa.app.command.main import main
from kappa.core.ground.errors import InputError
from reports.history.dataset import History
from reports.history.findings import FindingKind
from reports.history.judgement import exit_status, judge_history
from reports.show.history_page import render
from reports.verdict.metric_verdict import worse_sign
from tests.unit.history.nights import START, history_of, on, with_facts
from tests.unit.reports.samples import latency

QUIET = (10 + 0.1 * np.random.default_rng(3).standard_normal(24)).tolist()
SLOWER = [*QUIET[:16], *(value * 1.3 for value in QUIET[16:])]


def judged(history, **options):
    return judge_history(History(history), 500, 0.001, **options)


def nights(folder, values, **facts):
    return history_of(folder, [[with_facts(value, **facts)] for value in values])


def slower_with(folder, fact, old, new, at=16):
    """Nights that become slower with the 16th; this fact changes before night ``at``."""
    return history_of(
        folder, [[with_facts(value, **{fact: old if night < at else new})] for night, value in enumerate(SLOWER)]
    )


def test_a_quiet_history_passes(tmp_path):
    found = judged(nights(tmp_path, QUIET))
    assert ([one.finding.kind for one in found], exit_status(found)) == ([FindingKind.QUIET], 0)


def test_what_became_slower_is_worse(tmp_path):
    found = judged(nights(tmp_path, SLOWER))
    assert ([one.verdict for one in found], exit_status(found)) == (["step, worse"], 1)
    assert found[0].since == "2026-02-05 02:00"


def test_what_became_faster_is_no_alarm(tmp_path):
    found = judged(nights(tmp_path, [1 / value for value in SLOWER]))
    assert ([one.verdict for one in found], exit_status(found)) == (["step, better"], 0)


@pytest.mark.parametrize(("reference", "verdict"), [(10, "step, worse"), (13, "step, better")])
def test_within_two_bounds_again_is_better(tmp_path, reference, verdict):
    """Bounds of 8 % on both sides: the level is left at 10, or reached at 13."""
    figure = [0, reference, -0.08, 0.08, "us", "pass"]
    cases = [latency(perfvalues={"embedded:cpu:latency_8B": [value, *figure[1:]]}) for value in SLOWER]
    (found,) = judged(history_of(tmp_path, [[one] for one in cases]))
    assert found.verdict == verdict


def test_too_few_values_cannot_be_judged(tmp_path):
    assert exit_status(judged(nights(tmp_path, QUIET[:5]))) == 2


def test_a_change_before_the_day_asked_for_is_left_out(tmp_path):
    history = nights(tmp_path, SLOWER)
    assert exit_status(judged(history, since=1770595200)) == 0  # 2026-02-09
    assert exit_status(judged(history, since=1769904000)) == 1  # 2026-02-01


def test_what_came_after_a_change_that_is_left_out_is_judged(tmp_path):
    history = nights(tmp_path, [*SLOWER, *(2 * value for value in SLOWER[-2:])])
    (found,) = judged(history, since=1770595200)
    assert (found.verdict, found.since, found.worse) == ("step, worse", "2026-02-13 02:00", True)


@pytest.mark.parametrize(
    "unit, informational, bound, verdict, status",
    [
        ("us", [], None, "step, worse", 1),
        ("us", ["latency_8B"], None, "step, higher (informational)", 0),
        ("us", ["latency_8B"], 1, "step, worse", 1),
        ("", [], None, "step, higher (worse direction unknown)", 0),
        ("", [], 1, "step, worse", 1),
    ],
)
def test_only_what_gates_is_an_alarm(tmp_path, unit, informational, bound, verdict, status):
    """An upper bound of 500 makes a metric gate, whatever its unit is."""
    figure = {"embedded:cpu:latency_8B": [0, 500, None, bound, unit, "pass"]}
    cases = [
        latency(informational=informational, perfvalues={key: [value, *rest[1:]] for key, rest in figure.items()})
        for value in SLOWER
    ]
    found = judged(history_of(tmp_path, [[one] for one in cases]))
    assert ([one.verdict for one in found], exit_status(found)) == ([verdict], status)


@pytest.mark.parametrize(
    "fact, old, new, said",
    [
        ("kernel", "6.1.0-1", "6.1.0-2", "kernel: 6.1.0-1 → 6.1.0-2 (2026-02-05 02:00)"),
        ("driver", "", "570.1", "driver: not recorded → 570.1 (2026-02-05 02:00)"),
        ("mpi", "Open MPI 4.1", "Open MPI 5.0", "MPI: Open MPI 4.1 → Open MPI 5.0 (2026-02-05 02:00)"),
        ("sha256", "a" * 64, "b" * 64, "program: aaaaaaaaaaaa → bbbbbbbbbbbb (2026-02-05 02:00)"),
        ("suite_revision", "c" * 40, "d" * 40, "suite revision: cccccccccccc → dddddddddddd (2026-02-05 02:00)"),
    ],
)
def test_what_changed_with_the_step_is_said(tmp_path, fact, old, new, said):
    assert judged(slower_with(tmp_path, fact, old, new))[0].changes == (said,)


@pytest.mark.parametrize("changed", [13, 14, 15, 17, 18, 19])
def test_what_changed_some_values_from_the_step_is_said_with_its_time(tmp_path, changed):
    history = slower_with(tmp_path, "kernel", "1", "2", at=changed)
    day = START + datetime.timedelta(days=changed)
    assert judged(history)[0].changes == (f"kernel: 1 → 2 ({day:%Y-%m-%d} 02:00)",)


def test_what_changed_long_before_the_step_is_not_said(tmp_path):
    assert judged(slower_with(tmp_path, "kernel", "1", "2", at=10))[0].changes == ()


@pytest.mark.parametrize(
    "kernels, said",
    [
        ("1" * 20 + "2" * 4, ("kernel: 1 → 2 (2026-02-09 02:00)",)),
        ("12" * 12, ("kernel: 23 times, first 1, last 2",)),
    ],
)
def test_what_changed_during_a_drift_is_said(tmp_path, kernels, said):
    drifting = np.linspace(1, 1.3, 24) * QUIET
    history = history_of(
        tmp_path, [[with_facts(value, kernel=kernel)] for value, kernel in zip(drifting, kernels, strict=True)]
    )
    (found,) = judged(history)
    assert (found.finding.kind, found.changes) == (FindingKind.DRIFT, said)


def test_other_libraries_are_said_by_the_hash_of_all(tmp_path):
    old, new = ({"/opt/libmpi.so": digit * 64} for digit in "ab")
    (change,) = judged(slower_with(tmp_path, "files", old, new))[0].changes
    assert change.startswith("specs and libraries: ")


def test_other_nodes_are_another_series_or_a_change(tmp_path):
    history = history_of(
        tmp_path,
        [[on(["node1", "node2"] if night < 16 else ["node3"], value=value)] for night, value in enumerate(SLOWER)],
    )
    assert [one.finding.changed for one in judged(history)] == [False, False]
    (found,) = judged(history, across_nodes=True)
    assert found.changes == ("node set: node1,node2 → node3 (2026-02-05 02:00)",)


def test_nothing_that_is_recorded_changed(tmp_path):
    assert judged(nights(tmp_path, SLOWER))[0].changes == ()


@pytest.mark.parametrize(
    "lower, upper, unit, sign",
    [
        (-np.inf, 5, "MB/s", 1),
        (5, np.inf, "s", -1),
        (1, 5, "s", 0),
        (-np.inf, np.inf, "us", 1),
        (-np.inf, np.inf, "MB/s", -1),
        (-np.inf, np.inf, "", 0),
    ],
)
def test_which_way_is_worse(lower, upper, unit, sign):
    assert worse_sign(lower, upper, unit) == sign


def test_no_history_says_how_to_fill_it(tmp_path):
    with pytest.raises(InputError, match="kappa history SITE --add"):
        History(tmp_path)


def test_the_page_escapes_what_jobs_wrote(tmp_path):
    page = render("here", judged(slower_with(tmp_path, "kernel", "6", "<b>7")))
    assert "6 → &lt;b&gt;7" in page
    assert "<b>7" not in page
    assert "1 series worse than before" in page


@pytest.mark.parametrize("kind", [FindingKind.DRIFT, FindingKind.STEP, FindingKind.OUTLIER])
def test_every_finding_is_drawn(tmp_path, kind):
    (one,) = judged(nights(tmp_path, SLOWER))
    page = render("here", [dataclasses.replace(one, finding=dataclasses.replace(one.finding, kind=kind))])
    assert 'id="plot-0"' in page


def test_the_commands_from_reports_to_exit_status(tmp_path, monkeypatch, capsys):
    (tmp_path / "site_configs").mkdir()
    monkeypatch.chdir(tmp_path)
    nights(tmp_path / "results/here", SLOWER)
    for path in (tmp_path / "results/here/history").rglob("*.parquet"):
        path.unlink()
    assert main(["history", "here"]) == 2
    assert main(["history", "here", "--add"]) == 0
    assert main(["history", "here", "--html", "page.html"]) == 1
    output = capsys.readouterr()
    assert "step, worse since 2026-02-05 02:00" in output.out
    assert "kappa history SITE --add" in output.err
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert main(["history", "here", "--since", "2026-03-01"]) == 0


def test_a_damaged_report_makes_the_exit_status_of_ingest(tmp_path, monkeypatch, capsys):
    (tmp_path / "site_configs").mkdir()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results/here").mkdir(parents=True)
    (tmp_path / "results/here/run-report.json").write_text("{", encoding="utf-8")
    assert main(["history", "here", "--add"]) == 1
    assert "results/here/run-report.json: line 1" in capsys.readouterr().err


@pytest.mark.parametrize("site", ["../other", "a/b", ".hidden", ""])
def test_what_is_no_site_is_refused(site, capsys):
    assert main(["history", site]) == 2
    assert f"{site!r}" in capsys.readouterr().err


def test_what_several_checks_of_a_node_say_together_is_judged(tmp_path):
    """In a real history: it has no facts of its own to explain a change."""
    other = {"check_class": "OsuOther", "name": "OsuOther %placement=two_nodes"}
    values = [value * (1.2 if night >= 20 else 1) for night, value in enumerate([*QUIET, *QUIET[:4]])]
    cases = [[on(["node1"], value=value), {**on(["node1"], value=value), **other}] for value in values]
    found = {one.series.case: one for one in judged(history_of(tmp_path, cases))}
    together = found["2 checks together"]
    assert (together.worse, together.series.nodes, together.changes) == (True, "node1", ())
    assert together.finding.change == pytest.approx(-0.17, abs=0.02)
