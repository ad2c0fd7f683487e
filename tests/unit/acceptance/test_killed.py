"""Killed at any moment: no finished result is lost, nothing half-written counts, and the next run goes on."""

import json
import random

from kappa.app.conduct import acceptance as running
from reports.acceptance.campaign.layout import REPORT
from reports.acceptance.dossier import verify, write_dossier
from reports.acceptance.judge import judge
from reports.acceptance.kinds.clause import ClauseOutcome
from tests.killing import in_child, seconds
from tests.tiers import few_or_many
from tests.unit.acceptance.conftest import clause
from tests.unit.reports.samples import latency, report


@few_or_many("least", 10, 100)
def test_run_that_is_killed_again_and_again_loses_no_result(campaign, monkeypatch, least):
    repeats = 40
    campaign.demand(clause(repeats=repeats))

    def run_attempt(site, contract, checks, attempt, conductor, tell):
        text = json.dumps(report([latency(value=attempt.repeat / 100)], uuid=attempt.folder.name))
        with (attempt.folder / REPORT).open("w") as file:
            for start in range(0, len(text), 512):
                file.write(text[start : start + 512])
                file.flush()

    monkeypatch.setattr(running, "run_attempt", run_attempt)

    draw = random.Random(11)
    finished = kills = 0
    while kills < least:
        kills += not in_child(lambda: campaign.run(repeats), draw.uniform(0, 0.1))
        now = sum(attempt.session is not None for attempt in campaign.attempts())
        assert now >= finished, "a finished result was lost"
        finished = now
    campaign.run(repeats)
    verdict = judge(campaign).clauses[0]
    assert verdict.outcome is ClauseOutcome.MET
    assert [sample.value for sample in verdict.samples] == [repeat / 100 for repeat in range(1, repeats + 1)]


@few_or_many("least", 10, 100)
def test_report_that_is_killed_leaves_whole_dossiers(campaign, tmp_path, least):
    campaign.measure(9, 9, 9)
    target = tmp_path / "out" / "dossier"
    whole_s = seconds(lambda: write_dossier(campaign, tmp_path / "timed", pdf=False, how_signed=None))
    draw = random.Random(12)
    written = kills = turns = 0
    while kills < least or (not written and turns < 100 * least):
        turns += 1
        after_s = draw.uniform(0, 1.2 * whole_s)
        kills += not in_child(lambda: write_dossier(campaign, target, pdf=False, how_signed=None), after_s)
        if target.exists():
            assert verify(target).problems == []
            written += 1
            target.rename(tmp_path / "out" / f"dossier-{written}")
    assert len([path for path in (tmp_path / "out").iterdir() if not path.name.startswith(".")]) == written
