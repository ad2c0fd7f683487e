"""The verdict of a run: concluded once, read as it was concluded, and judged again when asked."""

import json
import os
import shutil
import sys
from collections import Counter

import pytest
from msgspec import structs

from kappa.app.command.main import main
from kappa.core.ground.errors import InputError
from kappa.core.record.load import keep_record
from kappa.core.record.runs import RECORD, RUN_REPORT, VERDICT
from kappa.core.sites.load import JUDGED_BY, Site, judging_site, keep_judging_files
from kappa.core.sites.references import CasePlace, SiteReferences
from reports.verdict.judge import judge
from reports.verdict.state import State
from reports.verdict.stored import judge_report, keep_verdict, verdict_of
from tests.unit.reports.samples import (
    DATA,
    EXPECTED,
    REPOSITORY,
    SITE,
    ToldSite,
    case,
    complete,
    finding,
    latency,
    loaded,
    report,
)

CRASH = {**finding(), "quantity": "crash of a rank:", "slowdown": None}
SLOW = {**latency(value=900), "suspects": ["node1"], "findings": [finding("node1")]}
ALONE = {"job_nodelist": ["node2"], "display_name": "OsuLatency %placement=two_nodes %.nid=node2"}
#: Reports with re-measurements: purpose and case of each.
MEASURED_AGAIN = {
    "node-bound": (SLOW, [("same-nodes", SLOW), ("other-nodes", latency(job_nodelist=["node3", "node4"]))]),
    "transient": (SLOW, [("same-nodes", latency())]),
    "pinned": ({**SLOW, **ALONE}, [("same-nodes", {**SLOW, **ALONE, "display_name": "OsuLatency"})]),
    "robbed": ({**SLOW, "robbed": "busy"}, [("same-nodes", {**SLOW, "robbed": "busy"})] * 2),
    "crashes everywhere": (
        latency(value=None, result="fail", fail_phase="sanity", findings=[CRASH], suspects=["node2"]),
        [("remaining-nodes", latency(value=None, result="fail", fail_phase="sanity", findings=[CRASH]))],
    ),
    "in the same allocation": ({**SLOW, "first_measurement": {"perfvalues": SLOW["perfvalues"]}}, []),
}


def kept(document, folder, *again):
    """Write the reports, their record and their verdict, and return the session."""
    session = loaded(document, folder)
    (folder / "confirmations").mkdir(exist_ok=True)
    for number, (purpose, entry) in enumerate(again):
        info = {"uuid": f"again-{number}", "confirms": session.uuid, "purpose": purpose}
        (folder / f"confirmations/{number}.json").write_text(json.dumps(report([entry], **info)))
    session = keep_record(folder / RUN_REPORT)
    keep_verdict(session, SITE)
    return session


def of_figures(verdict):
    """All that was concluded; the site is another object."""
    fields = ("session", "mode", "mode_origin", "state", "cases", "gaps", "not_provided", "suspects", "breadth")
    return {name: getattr(verdict, name) for name in fields}


@pytest.mark.parametrize("recorded", sorted(DATA.glob("*.json")), ids=lambda path: path.stem)
def test_stored_verdict_is_the_one_that_was_concluded(recorded, tmp_path):
    shutil.copy(recorded, tmp_path / RUN_REPORT)
    session = keep_record(tmp_path / RUN_REPORT)
    keep_verdict(session, SITE)
    assert of_figures(judge_report(tmp_path)) == of_figures(judge(session, SITE))


@pytest.mark.parametrize("kind", MEASURED_AGAIN)
def test_stored_verdict_has_every_attempt(kind, tmp_path):
    first, again = MEASURED_AGAIN[kind]
    session = kept(report([case("PartitionState"), first], uuid="u1"), tmp_path, *again)
    stored, concluded = judge_report(tmp_path), judge(session, SITE)
    assert len(concluded.cases[1].measurements) > 1
    assert of_figures(stored) == of_figures(concluded)


def test_run_is_judged_by_the_files_that_were_kept_with_it(tmp_path, monkeypatch):
    session = kept(complete(), tmp_path)
    assert judge_report(tmp_path).state is State.PASS
    monkeypatch.setattr("reports.verdict.stored.judge", lambda *_: 1 / 0)
    assert judge_report(tmp_path).session == session


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / VERDICT).unlink(),
        lambda folder: (folder / VERDICT).write_text('{"schema": "kappa-verdict-0"}'),
        lambda folder: (folder / VERDICT).write_text('{"verdict": "PASS", "exit_status": 0}'),
        lambda folder: loaded(report([case("PartitionState"), latency(value=9000)]), folder),
    ],
    ids=["none", "another version", "another document", "another report"],
)
def test_run_without_its_verdict_is_judged_now(change, tmp_path):
    kept(report([case("PartitionState"), latency(value=901)]), tmp_path)
    (tmp_path / VERDICT).write_text((tmp_path / VERDICT).read_text().replace('"FAIL"', '"PASS"'))
    assert judge_report(tmp_path).state is State.PASS
    change(tmp_path)
    assert judge_report(tmp_path).state is State.FAIL


@pytest.mark.parametrize(
    ("key", "value"), [("case", 99), ("run", 7), ("session", 1), ("case", -1), ("first", True), ("metrics", [])]
)
def test_verdict_about_no_case_of_the_record_is_refused(key, value, tmp_path):
    kept(complete(), tmp_path)
    document = json.loads((tmp_path / VERDICT).read_text())
    document["cases"][1][key] = value
    (tmp_path / VERDICT).write_text(json.dumps(document))
    with pytest.raises(InputError, match=r"verdict\.json"):
        judge_report(tmp_path)


def test_show_reads_each_file_of_a_run_once(tmp_path, capsys):
    opened = Counter()
    watching = [True]

    def note(event, arguments):
        if watching and event == "open" and str(arguments[0]).startswith(str(tmp_path)):
            opened[os.path.basename(arguments[0])] += 1

    kept(complete(), tmp_path)
    sys.addaudithook(note)
    assert main(["show", str(tmp_path)]) == 0
    watching.clear()
    assert {*opened.values()} == {1} and {RECORD, VERDICT} <= opened.keys() and RUN_REPORT not in opened


REFERENCES = """\
OsuLatency:
  $index: [$partition, placement]
  embedded:(cpu|other):
    two_nodes:
      latency_8B: [10, null, {upper}, us]
$sources: [{{match: "*", source: vendor, date: 2026-11-28, samples: 0, method: "data sheet"}}]
"""


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A site with references: its latency may be so many times above 10 us."""

    def write(upper):
        (tmp_path / "site/references").mkdir(parents=True, exist_ok=True)
        (tmp_path / "site/references/network.yaml").write_text(REFERENCES.format(upper=upper))
        told = ToldSite()
        told.folder = tmp_path / "site"
        return told

    monkeypatch.setattr(ToldSite, "name", "embedded")
    return write


@pytest.mark.parametrize(
    ("value", "upper", "states"),
    [(9, 0.5, "PASS PASS"), (20, 0.5, "PASS FAIL"), (600, 0.5, "FAIL FAIL"), (600, 90, "FAIL PASS")],
)
def test_again_judges_by_the_present_references(value, upper, states, site, tmp_path):
    entry = latency(value=value)
    if value > 500:
        entry |= {"fail_phase": "performance", "fail_info": {"exc_type": "PerformanceError"}}
    (tmp_path / "run").mkdir()
    kept(complete(entry), tmp_path / "run")
    before, after = judge_report(tmp_path / "run"), judge_report(tmp_path / "run", site(upper), again=True)
    assert f"{before.cases[-1].state.name} {after.cases[-1].state.name}" == states
    metric = after.cases[-1].metrics[0].metric
    assert (metric.reference, metric.upper, metric.source.source) == (10, 10 * (1 + upper), "vendor")
    moved = [line for line in after.changes if "allowed ≤ 500, now" in line]
    assert len(moved) == 2 and ("→" in moved[-1]) == (before.cases[-1].state is not after.cases[-1].state)
    assert judge_report(tmp_path / "run").changes is None, "nothing was written"


def test_again_names_what_is_missing_now(site, tmp_path):
    (tmp_path / "run").mkdir()
    kept(complete(), tmp_path / "run")
    now = site(0.5)
    now.modes = {"nightly": {"node/partition-state": ("cpu",), "compute/stream": ("cpu",)}}
    found = judge_report(tmp_path / "run", now, again=True)
    assert found.state is State.INCOMPLETE
    assert [line for line in found.changes if line.startswith("new: expected in mode nightly")]


def test_again_keeps_a_failure_that_no_bound_made(site, tmp_path):
    entry = latency(value=600, fail_phase="performance", fail_info={"exc_type": "PerformanceError"})
    entry["declared_metrics"] = ["latency_8B", "latency_1M"]
    (tmp_path / "run").mkdir()
    kept(complete(entry), tmp_path / "run")
    assert judge_report(tmp_path / "run", site(90), again=True).state is State.FAIL


def test_again_names_a_case_whose_other_attempt_counts_now(site, tmp_path):
    slow = {"fail_phase": "performance", "fail_info": {"exc_type": "PerformanceError"}, "hashcode": "1"}
    first, again = latency(value=900, jobid="100", **slow), latency(value=900, jobid="200", **slow)
    (tmp_path / "run").mkdir()
    kept(report([case("PartitionState"), first], uuid="u1"), tmp_path / "run", ("same-nodes", again))
    found = judge_report(tmp_path / "run", site(500), again=True)
    assert [line for line in found.changes if "OsuLatency" in line and "FAIL → ✔ PASS" in line]


def test_again_without_a_stored_verdict_compares_with_the_kept_files(tmp_path):
    loaded(complete(), tmp_path)
    kept_site(tmp_path, "left_out: []\n")
    found = judge_report(tmp_path, Site(REPOSITORY / "site_configs/embedded"), again=True)
    assert [line for line in found.changes if line.startswith("gone: a feature is missing without a reason")]


def kept_site(folder, expected):
    """Keep the embedded site's files with a run, but these exceptions."""
    of_site = folder / JUDGED_BY / "embedded"
    of_site.mkdir(parents=True)
    shutil.copy(REPOSITORY / "site_configs/embedded/site.yaml", of_site)
    (of_site / "expected.yaml").write_text(expected)


@pytest.mark.parametrize("stored", [True, False], ids=["stored", "judged now"])
def test_mode_is_the_one_of_the_session(stored, tmp_path):
    kept(complete(), tmp_path)
    if not stored:
        (tmp_path / VERDICT).unlink()
    assert judge_report(tmp_path).mode_origin == "of the session"
    assert judge_report(tmp_path, mode="smoke").mode_origin == "given"


def test_former_run_is_judged_by_its_kept_files(tmp_path):
    loaded(complete(), tmp_path)
    now = judge_report(tmp_path)
    kept_site(tmp_path, "left_out: []\n")
    then = judge_report(tmp_path)
    assert len(then.gaps) > len(now.gaps)
    assert then.site.folder == now.site.folder
    assert [path.name for path in then.judged_by] == ["expected.yaml"]


@pytest.mark.parametrize("fabrics", [True, False], ids=["kept", "by an earlier version"])
def test_simulated_run_is_judged_by_its_fabrics(fabrics, tmp_path):
    simulated = Site(REPOSITORY / "site_configs/simulated")
    keep_judging_files(simulated, tmp_path)
    if not fabrics:
        shutil.rmtree(tmp_path / JUDGED_BY / "simulated/fabrics")
    kept_one = judging_site(tmp_path, "simulated")
    assert kept_one.modes == simulated.modes if fabrics else kept_one is None


def test_night_without_a_mode_in_its_report_is_judged_by_its_mode(tmp_path):
    session = loaded(complete(), tmp_path)
    nothing = structs.replace(session, mode=None)
    modes = {"nightly": EXPECTED, "full": {"compute/stream": ("cpu",)}}
    assert verdict_of(nothing, ToldSite(modes), "full").mode == "full"
    assert verdict_of(session, ToldSite(modes), "full").mode == "nightly"


@pytest.mark.parametrize("key", ["two_nodes", "two|same_s|other_s", "(two|one)_nodes", "two.*"])
def test_key_of_a_reference_matches_as_in_reframe(key, tmp_path):
    text = REFERENCES.format(upper=0.5).replace("two_nodes:", f"{key}:")
    (tmp_path / "references").mkdir()
    (tmp_path / "references/network.yaml").write_text(text)
    place = CasePlace("embedded", "cpu", "packaged", "OsuLatency %placement=two_nodes")
    (entry, source) = SiteReferences(tmp_path).of("network.yaml", "OsuLatency", place)["latency_8B"]
    assert (entry[0], source.source) == (10, "vendor")


@pytest.mark.parametrize("entry", ["5", '["$xfail", why, [1, 2, 3, us]]', "[1, a, 2, us]"])
def test_reference_without_bounds_is_refused(entry, tmp_path):
    (tmp_path / "references").mkdir()
    text = REFERENCES.format(upper=0.5).replace("[10, null, 0.5, us]", entry)
    (tmp_path / "references/network.yaml").write_text(text)
    place = CasePlace("embedded", "cpu", "packaged", "OsuLatency %placement=two_nodes")
    with pytest.raises(InputError, match=r"network\.yaml: OsuLatency.*latency_8B: expected \[value"):
        SiteReferences(tmp_path).of("network.yaml", "OsuLatency", place)
