"""The check of ``docs/checks.md`` runs on the cluster and passes."""

from tests.worked_check import CHECK, written_into


def test_the_check_of_the_page_passes(suite, tmp_path):
    environment = written_into(tmp_path)
    checks = tmp_path / "reframe_checks/node"
    _, verdict = suite.run("-n", CHECK, "--system=embedded:cpu", checks=checks, **environment)
    (case,) = verdict["cases"]
    assert (case["check_class"], case["state"]) == (CHECK, "pass"), case
