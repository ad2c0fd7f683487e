"""Rows of what the source documents measure: a check, feature or fabric that is not there is an error with its row."""

import pytest

from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import SUITE
from kappa.core.vocabulary.checks import catalogue
from tests import coverage
from tests.coverage import MISSING, NOT_PROVIDED, PROXY, CoverageRow, Provided

HEAD = """\
documents:
- title: A document
  by: Somebody
  rows:
  - measured: a latency
    system: a machine
"""
PROXY_OF_A_CODE = "    proxy: {code: c, pattern: p, size: s, scaling: strong}\n"
HERE = Provided(frozenset({"osu", "network", "collectives", "scale_two_nodes", "scale_one_node"}))


@pytest.fixture
def read(tmp_path):
    def of(text):
        path = tmp_path / "coverage.yaml"
        path.write_text(HEAD + text)
        return coverage.read(path, catalogue())

    return of


def test_the_data_of_the_suite_can_be_read():
    found = coverage.read(SUITE / coverage.DATA, catalogue())
    assert len(found.documents) == 3
    page = coverage.page(found, catalogue())
    for document in found.documents:
        assert f"## {document.title}\n" in page
        for row in document.rows:
            assert f"| {row.measured} |" in page


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("    checks: [OsuLatncy]\n", r"line 7: .*checks.0: .*row 'a latency'.*did you mean 'OsuLatency'"),
        ("    needs: [sharpp]\n", r"line 7: .*row 'a latency'.*did you mean 'sharp'"),
        ("    simulated_on: [edr]\n", r"line 7: .*row 'a latency'.*'edr'"),
        ("    state: missing\n", r"line 7: .*unknown key 'state'"),
        ("    proxy: {code: c}\n", r"line 7: .*expected the key"),
        ("  - measured: x\n", r"expected the key system"),
    ],
)
def test_what_is_not_there_is_an_error_with_its_line(read, text, message):
    with pytest.raises(InputError, match=message):
        read(text)


def state_of(text, read, provided=HERE):
    (row,) = read(text).documents[0].rows
    return coverage.state(row, catalogue(), provided)


def test_a_row_without_checks_is_missing_even_with_a_proxy(read):
    assert state_of("", read) == MISSING
    assert state_of(PROXY_OF_A_CODE, read) == MISSING


def test_the_state_follows_from_what_the_site_states(read):
    assert state_of("    checks: [OsuBarrier]\n", read) == coverage.MEASURED
    assert state_of("    checks: [Iozone]\n    needs: [storage_nvme]\n", read).startswith(NOT_PROVIDED)
    assert "`iozone`, `storage_nvme`" in state_of("    checks: [Iozone]\n    needs: [storage_nvme]\n", read)
    # The site lacks a feature that the document's system has.
    assert state_of("    checks: [OsuLatency]\n", read) == coverage.MEASURED
    assert state_of("    checks: [OsuLatency]\n    needs: [sharp]\n", read) == f"{NOT_PROVIDED}: lacks `sharp`"


def test_checks_that_lack_different_things_are_told_apart(read):
    text = "    checks: [OsuBarrier, OsuBlockingCollective]\n"
    assert state_of(text, read) == f"{coverage.MEASURED}; `OsuBlockingCollective` lacks `osu-suite`"


def test_features_of_which_the_machine_alone_tells_count_unless_the_site_says_why_it_lacks_them():
    provided = Provided.here().features
    assert {"rails", "applications"} <= provided
    assert not {"nvidia", "sharp", "hpcg", "placement_gpus_other_socket"} & provided


def test_a_proxy_says_whether_it_runs(read):
    assert state_of("    checks: [OsuBarrier]\n" + PROXY_OF_A_CODE, read) == f"{PROXY}, {coverage.MEASURED}"
    assert state_of("    checks: [Hpcc]\n" + PROXY_OF_A_CODE, read).startswith(f"{PROXY}, {NOT_PROVIDED}")


def test_every_row_is_counted_once():
    rows = [CoverageRow("a", "s"), CoverageRow("b", "s", checks=["OsuBarrier"])]
    document = coverage.Document("A document", "Somebody", rows)
    assert coverage.page(coverage.CoverageData([document]), catalogue()).startswith(
        "2 rows: 1 measured on the embedded cluster, 0 not provided here, 0 proxy, 1 missing."
    )
