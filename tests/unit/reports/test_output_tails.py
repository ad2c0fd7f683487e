"""The page shows the output of failed jobs, with links that also work in a copy of the run's folder."""

import html
import json
import re
import shutil
import urllib.parse

import pytest

from kappa.core.record.load import load_session
from reports.show.run_page import LINES, render
from reports.verdict.judge import judge
from tests.unit.reports.samples import SITE, complete, latency

LINK = re.compile(r'<a href="([^"#][^"]*)"')


@pytest.fixture
def run(tmp_path):
    """A run whose only failure was measured twice in its job, as ``kappa validate`` keeps it."""
    folder = tmp_path / "runs/20261122T100000-nightly"
    failed = latency(value=900, stagedir=f"{folder}/stage/here/cpu/A b", job_stdout="rfm_job.out",
                     job_stderr="rfm_job.err", jobid="7")  # fmt: skip
    failed["first_measurement"] = {"perfvalues": failed["perfvalues"]}
    stage = folder / "stage/here/cpu/A b"
    (stage / "first_measurement").mkdir(parents=True)
    (stage / "rfm_job.out").write_text("".join(f"line {number}\n" for number in range(100)) + "<b>\x1b[1mend\n")
    (stage / "rfm_job.err").write_text("srun: API_TOKEN=hunter2\n")
    (stage / "first_measurement/rfm_job.out").write_text("as it was at first\n")
    document = complete(failed)
    document["session_info"] |= {"prefix_stage": f"{folder}/stage", "prefix_output": f"{folder}/output"}
    (folder / "run-report.json").write_text(json.dumps(document))
    return folder


def page_of(run, folder=None):
    return render(judge(load_session(run), SITE), folder=folder)


def test_the_last_lines_of_both_measurements(run):
    page = page_of(run)
    assert f"line {101 - LINES}\n" in page and f"line {100 - LINES}\n" not in page
    assert "&lt;b&gt;end" in page and "\x1b" not in page
    assert "standard output, at first" in page and "as it was at first" in page
    assert "API_TOKEN=REDACTED" in page and "hunter2" not in page


def test_no_link_is_dead_in_a_copy(run, tmp_path):
    (run / "report.html").write_text(page_of(run))
    copy = tmp_path / "elsewhere/copy"
    shutil.copytree(run, copy)
    shutil.rmtree(run)
    made_before, made_there = (copy / "report.html").read_text(), page_of(copy)
    for page in (made_before, made_there):
        links = [urllib.parse.unquote(html.unescape(link)) for link in LINK.findall(page)]
        assert len(links) == 3
        assert all((copy / link).resolve().is_relative_to(copy) and (copy / link).is_file() for link in links)
    assert str(copy) in made_there


def test_a_page_that_lies_elsewhere(run, tmp_path):
    links = LINK.findall(page_of(run, tmp_path / "www"))
    assert len(links) == 3
    assert all((tmp_path / "www" / urllib.parse.unquote(link)).resolve().is_file() for link in links)


def test_only_what_lies_in_the_run(run, tmp_path):
    (tmp_path / "private").write_text("not for others\n")
    out = next(run.glob("stage/**/A b/rfm_job.out"))
    out.unlink()
    out.symlink_to(tmp_path / "private")
    document = json.loads((run / "run-report.json").read_text())
    assert "not for others" not in page_of(run)
    for stagedir in (f"{run}/stage/../../..", str(tmp_path)):
        failed = next(case for case in document["runs"][0]["testcases"] if case.get("jobid") == "7")
        failed |= {"stagedir": stagedir, "job_stdout": "private"}
        (run / "run-report.json").write_text(json.dumps(document))
        assert "not for others" not in page_of(run)


def test_output_that_is_gone_or_empty(run):
    shutil.rmtree(run / "stage")
    assert not LINK.findall(page_of(run))
