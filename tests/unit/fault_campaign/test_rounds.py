"""A round's run, with `kappa validate` replaced by a script."""

import pytest

from tests.fault_campaign import rounds
from tests.fault_campaign.cluster import Cluster

REPORT = 'mkdir "$KAPPA_RESULTS/run"; echo {} > "$KAPPA_RESULTS/run/run-report.json"'
SAID = 'echo "report: $KAPPA_RESULTS/run/report.html"'


@pytest.fixture
def validate(tmp_path, monkeypatch):
    """validate(script): the report of a round whose validation is the script."""

    def validate(script):
        path = tmp_path / "kappa"
        path.write_text(f"#!/bin/bash\n{script}\n")
        path.chmod(0o755)
        (tmp_path / "results").mkdir()
        monkeypatch.setattr(rounds, "KAPPA", path)
        monkeypatch.setattr(rounds, "ROUND_SECONDS", 1)
        return rounds.validate(Cluster(tmp_path / "cluster", tmp_path / "results"))

    return validate


def test_a_run_that_ended_has_a_report(validate, tmp_path):
    assert validate(f"{REPORT}; {SAID}") == tmp_path / "results/run/run-report.json"


def test_a_crash_has_none(validate):
    assert validate(f"{REPORT}; exit 2") is None


def test_what_the_limit_ended_is_no_outcome_although_it_is_judged(validate):
    assert validate(f"{REPORT}; trap '{SAID}; kill $!; exit 2' TERM; sleep 60 & wait") is None
