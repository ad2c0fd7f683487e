"""Secrets in the environment or among the options reach neither a job's record nor any display."""

import json
import subprocess

import pytest

from kappa.app.command.main import main
from kappa.core.ground.redaction import Redaction, redacted
from reframe_checks.base.job_files import FOLDER
from tests.unit.reports.samples import complete, latency

SECRET = "hunter2-correct-horse"
NAMES = ("API_TOKEN", "DB_PASSWORD", "AWS_SECRET_ACCESS_KEY")


@pytest.fixture
def environment(monkeypatch):
    for name in NAMES:
        monkeypatch.setenv(name, SECRET)


def test_the_provenance_of_a_job(tmp_path, environment):
    script = f'. {FOLDER}/record_provenance.sh "$(mpirun --version)" "$(command -v bash)"'
    subprocess.run(["bash", "-c", script], cwd=tmp_path, check=True, capture_output=True)
    text = (tmp_path / "provenance.txt").read_text()
    assert "hostname=" in text
    assert SECRET not in text
    assert not [name for name in NAMES if name in text]


def test_report_page_and_verdict(tmp_path, environment, capsys):
    document = complete(latency(value=900))
    document["session_info"]["cmdline"] = f"reframe -S Stream.api_token={SECRET} --session-extras=mode=nightly"
    path = tmp_path / "run-report.json"
    path.write_text(json.dumps(document))
    main(["show", "-v", str(path), "--json", str(tmp_path / "verdict.json")])
    main(["show", "--format=page", str(path), "-o", str(tmp_path / "report.html")])
    written = "".join(capsys.readouterr()) + (tmp_path / "report.html").read_text()
    assert "api_token=REDACTED" in written
    assert SECRET not in written


@pytest.mark.parametrize(
    "option",
    [
        f"-S A.token={SECRET}", f"--setvar=A.b.DB_PASSWORD={SECRET}", f"--session-extras=mode=x,api_key={SECRET}",
        f"-S 'A.secret=a b {SECRET}'", f"--session-extras credentials={SECRET},{SECRET}", f"-S 'A.token={SECRET}",
    ],
)  # fmt: skip
def test_an_option_with_the_name_of_a_secret(option):
    line = redacted(f"reframe -r {option}")
    assert SECRET not in line
    assert line.startswith("reframe -r ")


@pytest.mark.parametrize(
    "line",
    [
        f"API_TOKEN={SECRET}", f"export db_password = '{SECRET} {SECRET}'", f'{{"password": "{SECRET}"}}',
        f"Authorization: Bearer {SECRET}", f"git clone https://me:{SECRET}@host/x",
        f"-----BEGIN OPENSSH PRIVATE KEY-----\n{SECRET}\n{SECRET}\n-----END OPENSSH PRIVATE KEY-----",
        f"-----BEGIN RSA PRIVATE KEY-----\n{SECRET}",
    ],
)  # fmt: skip
def test_what_a_job_printed(line):
    shown = Redaction().text(f"before\n{line}\nafter", "out")
    assert SECRET not in shown and "REDACTED" in shown and shown.startswith("before\n")
    assert shown.endswith("\nafter") or "RSA" in line


def test_output_without_secrets_stays_as_it_is():
    text = "bandwidth: 4.2 GB/s\nkeys: 3\nsrun: error: node2: task 1: Segmentation fault\n[1/2] a@b http://c:80/d\n"
    assert Redaction().text(text, "out") == text


def test_a_line_of_megabytes_is_no_trap():
    assert len(Redaction().text("a" * 2_000_000, "out")) == 2_000_000


def test_other_options_stay_as_they_are():
    line = "reframe -C 'a b' -S Stream.working_set=4GB --session-extras=mode=nightly"
    assert redacted(line) == line
