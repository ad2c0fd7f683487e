"""The checks read the raw output of a dossier again: a figure of the record that it does not give is named, with both
values. ReFrame runs two checks here on recorded output of their programs."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kappa.app.command.main import main
from kappa.app.conduct import rereading
from kappa.app.conduct.rereading import prove
from kappa.core.record.load import keep_record
from kappa.core.record.runs import RECORD
from kappa.core.record.series import CaseSeries
from reports.acceptance.campaign.layout import REPORT
from reports.acceptance.campaign.measured import note_measured
from reports.acceptance.campaign.signature import NOT_SIGNED
from reports.acceptance.dossier import write_dossier
from tests.replay.composed_site import write_site
from tests.unit.acceptance.conftest import Filled, clause
from tests.waiting import PATIENCE_S

REPOSITORY = Path(__file__).parents[3]
PLACES = {"OsuLatency": "osu-one-node", "NodeLinks": "osu-ring"}
STATE = "check_state.json"
FORGED = 0.125


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Check -> ReFrame's report with its case; ``root`` is the folder of the output."""
    root = tmp_path_factory.mktemp("reframe")
    write_site(root)
    done = subprocess.run(
        [
            Path(sys.executable).with_name("reframe"), "-C", root / "settings.yaml", "-c",
            REPOSITORY / "reframe_checks/network", "-r", "--prefix", root, f"--report-file={root / 'report.json'}",
            "-n", f"^({'|'.join(PLACES)})(%|$)", "-S", "keep_state=yes", "-S", "hold_s=0",
        ],
        env={**os.environ, "RFM_REFERENCE_PREFIX": str(root / "references")},
        cwd=root, capture_output=True, text=True, timeout=2 * PATIENCE_S, check=False,
    )  # fmt: skip
    assert (root / "report.json").exists(), done.stdout + done.stderr
    document = json.loads((root / "report.json").read_text())
    cases = {case.get("check_class"): case for case in document["runs"][0]["testcases"]
             if case["partition"] == PLACES.get(case.get("check_class")) and case["perfvalues"]}  # fmt: skip
    assert cases.keys() == PLACES.keys()
    return root, {name: {**document, "runs": [{"testcases": [case]}]} for name, case in cases.items()}


@pytest.fixture
def campaign(recorded, tmp_path):
    """An attempt at each check, with its raw output."""
    root, reports = recorded
    selectors = [("OsuLatency", "latency_8B", "us"), ("NodeLinks", "slowest_node_bandwidth", "MB/s")]
    filled = Filled(tmp_path / "campaign").demand(
        *(
            clause(id=f"B{number}", selector={"check": check, "metric": metric}, repeats=1, comparison="at_least",
                   threshold={"value": 0.001, "unit": unit})
            for number, (check, metric, unit) in enumerate(selectors)
        )
    )  # fmt: skip
    for number, report in enumerate(reports.values()):
        [case] = report["runs"][0]["testcases"]
        attempt = filled.begin(CaseSeries(case["name"], case["partition"], case["environ"]), 1, 1)
        shutil.copytree(case["outputdir"], attempt.folder / Path(case["outputdir"]).relative_to(root))
        document = {**report, "session_info": {**report["session_info"], "uuid": f"{number}"}}
        (attempt.folder / REPORT).write_text(json.dumps(document).replace(str(root), str(attempt.folder)))
        keep_record(attempt.folder / REPORT)
        note_measured(attempt.folder)
    return filled


def attempt_of(campaign, check="OsuLatency"):
    return next(attempt.folder for attempt in campaign.attempts() if attempt.series.name.startswith(check))


def output_of(campaign, check="OsuLatency"):
    """The folder of its raw output."""
    return next(attempt_of(campaign, check).rglob(STATE)).parent


def forge(campaign, change, check="OsuLatency"):
    """Change the case of a record."""
    path = attempt_of(campaign, check) / REPORT
    document = json.loads(path.read_text())
    change(document["runs"][0]["testcases"][0])
    path.write_text(json.dumps(document))
    keep_record(path)


def with_figure(case):
    next(figures for key, figures in case["perfvalues"].items() if key.endswith(":latency_8B"))[0] = FORGED


def proof_of(campaign):
    """The proof of its dossier, without the remark that no test signs it."""
    write_dossier(campaign, campaign.folder / "d", pdf=False, how_signed=None)
    proof = prove(campaign.folder / "d")
    proof.unchecked.remove(NOT_SIGNED)
    return proof


def the_figure(recorded):
    [case] = recorded[1]["OsuLatency"]["runs"][0]["testcases"]
    return next(figures[0] for key, figures in case["perfvalues"].items() if key.endswith(":latency_8B"))


def test_unaltered_dossier_of_ordinary_checks_is_intact(campaign):
    proof = proof_of(campaign)
    assert (proof.exit_status, proof.problems, proof.unchecked) == (0, [], [])
    assert any(line.startswith("2 cases read again") for line in proof.good)
    assert main(["acceptance", "verify", str(campaign.folder / "d")]) == 2, "it is not signed"


def test_value_changed_in_a_record_is_named_by_the_chain_and_by_the_output(campaign, recorded, capsys):
    forge(campaign, with_figure)
    assert main(["acceptance", "report", str(campaign.folder), "--no-pdf"]) == 2
    assert main(["acceptance", "verify", str(campaign.folder / "dossier")]) == 1
    said = capsys.readouterr().out
    name = f"attempts/{attempt_of(campaign).name}"
    assert f"altered since it was measured: {name}/{REPORT}" in said
    told = f"latency_8B: the record has {FORGED} us, the raw output gives {the_figure(recorded)} us"
    assert f"{name}, OsuLatency: {told}" in said


def test_value_changed_in_record_json_alone_is_named_by_the_chain_and_by_the_output(campaign, recorded):
    path = attempt_of(campaign) / RECORD
    document = json.loads(path.read_text())
    [metric] = [one for one in document["session"]["runs"][0][0]["metrics"] if one["name"] == "latency_8B"]
    metric["value"] = FORGED
    path.write_text(json.dumps(document))
    problems = proof_of(campaign).problems
    name = f"attempts/{attempt_of(campaign).name}"
    assert any(f"altered since it was measured: {name}/{RECORD}" in problem for problem in problems)
    told = f"latency_8B: the record has {FORGED} us, the raw output gives {the_figure(recorded)} us"
    assert f"{name}, OsuLatency: {told}" in problems


def test_record_added_to_an_attempt_of_a_former_version_is_named(campaign):
    record = attempt_of(campaign) / RECORD
    text = record.read_text()
    record.unlink()
    campaign.write_chain_anew()
    assert proof_of(campaign).problems == []
    shutil.rmtree(campaign.folder / "d")
    record.write_text(text)
    assert any(str(record.name) in problem for problem in proof_of(campaign).problems)


def test_value_changed_and_the_chain_written_anew_is_named(campaign, recorded):
    forge(campaign, with_figure)
    campaign.write_chain_anew()
    proof = proof_of(campaign)
    told = f"latency_8B: the record has {FORGED} us, the raw output gives {the_figure(recorded)} us"
    assert (proof.exit_status, proof.problems) == (1, [f"attempts/{attempt_of(campaign).name}, OsuLatency: {told}"])
    assert main(["acceptance", "sign", str(campaign.folder / "d"), "gpg"]) == 2


def test_other_unit_in_a_record_is_named(campaign):
    def in_seconds(case):
        next(figures for key, figures in case["perfvalues"].items() if key.endswith(":latency_8B"))[4] = "s"

    forge(campaign, in_seconds)
    campaign.write_chain_anew()
    assert ["latency_8B" in line for line in proof_of(campaign).problems] == [True]


def test_metric_removed_from_a_record_is_named(campaign):
    def without_figure(case):
        del case["perfvalues"][next(key for key in case["perfvalues"] if key.endswith(":latency_1MiB"))]

    forge(campaign, without_figure)
    campaign.write_chain_anew()
    [problem] = proof_of(campaign).problems
    assert "latency_1MiB: the record has no such figure" in problem


def test_metric_that_was_not_measured_is_named(campaign):
    forge(campaign, lambda case: case["perfvalues"].update({"a:b:invented": [1, 0, None, None, "us", "pass"]}))
    campaign.write_chain_anew()
    [problem] = proof_of(campaign).problems
    assert "invented: the record has 1.0 us, the raw output gives no such figure" in problem


def test_value_of_a_node_is_named(campaign):
    def with_node(case):
        [*_, of_nodes] = case["per_node"].values()
        of_nodes["values"]["node3"] = 1e6

    forge(campaign, with_node, "NodeLinks")
    campaign.write_chain_anew()
    [problem] = proof_of(campaign).problems
    assert " of node3: the record has 1000000.0 " in problem


def test_value_of_a_node_without_any_metric_is_named(campaign):
    def only_nodes(case):
        case["perfvalues"] = {}
        [*_, of_nodes] = case["per_node"].values()
        of_nodes["values"]["node3"] = 1e6

    forge(campaign, only_nodes, "NodeLinks")
    campaign.write_chain_anew()
    assert any(" of node3: the record has 1000000.0 " in line for line in proof_of(campaign).problems)


def test_curve_is_named(campaign):
    def with_curve(case):
        [curve] = case["curves"].values()
        curve["points"][3][1] = FORGED

    forge(campaign, with_curve)
    campaign.write_chain_anew()
    assert ["curves" in line for line in proof_of(campaign).problems] == [True]


def test_raw_output_changed_and_the_chain_written_anew_is_named(campaign):
    output = output_of(campaign) / "rfm_job.out"
    output.write_text(re.sub(r"(?m)^8 +\S+", "8    0.25", output.read_text()))
    campaign.write_chain_anew()
    problem, curves = proof_of(campaign).problems
    assert "latency_8B: the record has " in problem and "the raw output gives 0.25 us" in problem
    assert "curves" in curves


def is_unchecked(campaign, words):
    """Both records say nothing false, but one cannot be compared."""
    campaign.write_chain_anew()
    proof = proof_of(campaign)
    assert (proof.exit_status, proof.problems) == (2, [])
    [line] = proof.unchecked
    assert line.startswith(f"attempts/{attempt_of(campaign).name}, OsuLatency: ")
    assert words in line


def test_output_that_is_gone_is_not_compared(campaign):
    (output_of(campaign) / "rfm_job.out").unlink()
    is_unchecked(campaign, "cannot read rfm_job.out")


def test_output_without_a_state_is_not_compared(campaign):
    (output_of(campaign) / STATE).unlink()
    is_unchecked(campaign, STATE)


def test_output_too_large_for_the_dossier_is_not_compared(campaign, monkeypatch):
    output = output_of(campaign) / "rfm_job.out"
    output.write_text(output.read_text() + "#" * (1 << 20))
    monkeypatch.setattr("reports.acceptance.dossier.RAW_LIMIT", 1 << 20)
    is_unchecked(campaign, "too large for the dossier: attempts/")


def test_case_that_failed_before_it_had_figures_is_no_gap(campaign):
    """ReFrame lists its metrics without values."""

    def without_figures(case):
        case.update(result="fail", fail_phase="sanity", fail_reason="crash")

    forge(campaign, without_figures)
    campaign.write_chain_anew()
    proof = proof_of(campaign)
    assert (proof.exit_status, proof.unchecked) == (0, [])


def test_check_that_the_suite_does_not_have_is_not_imported(campaign):
    forge(campaign, lambda case: case.update(check_class="os"))
    campaign.write_chain_anew()
    [line] = proof_of(campaign).unchecked
    assert "no such check" in line


def changed_state(campaign, change):
    path = output_of(campaign) / STATE
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


@pytest.mark.parametrize(
    "value",
    [
        {"subprocess:Popen": [["touch", "started"]]}, {"reframe_checks.base.check:pathlib": ["x"]},
        {"set": 1}, {}, {"dict": [1]},
    ],
    ids=str,
)  # fmt: skip
def test_state_of_an_unknown_kind_is_refused(campaign, value, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    changed_state(campaign, lambda document: document["check"].update(iterations=value))
    is_unchecked(campaign, ": ")
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize("content", ["", "null", "[]", '{"check": 1}', "[" * 100_000])
def test_state_that_is_no_state_is_refused(campaign, content):
    (output_of(campaign) / STATE).write_text(content)
    is_unchecked(campaign, ": ")


def test_state_does_not_replace_what_the_class_does(campaign):
    changed_state(campaign, lambda document: document["check"].update(read_tables="", stagedir="/", _stagedir="/"))
    campaign.write_chain_anew()
    assert proof_of(campaign).exit_status == 0


def test_output_elsewhere_is_not_read(campaign, tmp_path):
    forge(campaign, lambda case: case.update(outputdir=f"/attempts/{attempt_of(campaign).name}/../../../secret"))
    (tmp_path / "secret").mkdir()
    is_unchecked(campaign, "not in the folder of the attempt")


def test_links_are_not_followed(campaign):
    write_dossier(campaign, campaign.folder / "d", pdf=False, how_signed=None)
    output = next((campaign.folder / "d").rglob("OsuLatency*/rfm_job.out"))
    output.unlink()
    output.symlink_to("/etc/passwd")
    proof = prove(campaign.folder / "d")
    assert proof.exit_status == 1
    assert any("links" in line for line in proof.unchecked)


def test_nothing_starts_while_output_is_read(tmp_path):
    with rereading._nothing_starts():
        for start in (lambda: subprocess.run(["true"], check=False), lambda: os.system("true"), os.fork):
            with pytest.raises(PermissionError):
                start()
    assert subprocess.run(["true"], check=False).returncode == 0
