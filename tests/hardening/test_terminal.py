"""Control sequences of a job never reach a terminal; JSON built to hurt is refused by name."""

import json

import pytest

from kappa.app.command.main import main
from tests.unit.reports.samples import complete, latency

ESCAPES = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e\r\x08"


def test_no_control_character_reaches_the_terminal(tmp_path, capsys):
    entry = latency(
        value=900, name=f"x{ESCAPES}", hint=ESCAPES, fail_reason=f"r{ESCAPES}", job_nodelist=[f"n{ESCAPES}"],
        suspects=[f"n{ESCAPES}"],
    )  # fmt: skip
    path = tmp_path / "run-report.json"
    path.write_text(json.dumps(complete(entry)))
    main(["show", "-v", str(path)])
    said = "".join(capsys.readouterr())
    assert not set(said) & {"\x1b", "\x9b", "\x07", "\x08", "\r", "\u202e"}


@pytest.mark.parametrize(
    "text",
    ["[" * 200_000, "{" + '"a":{' * 200_000, '{"runs": ' + "9" * 100_000, "", "\0" * 1000],
    ids=["lists", "objects", "number", "empty", "zeros"],
)
def test_hostile_json_is_a_message_and_no_verdict(tmp_path, capsys, text):
    path = tmp_path / "run-report.json"
    path.write_text(text)
    assert main(["show", str(path)]) == 2
    assert "run-report.json" in capsys.readouterr().err


def test_a_report_without_end_is_refused(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("kappa.core.record.reframe_report.MAX_REPORT_BYTES", 1000)
    path = tmp_path / "run-report.json"
    path.write_text(" " * 1001)
    assert main(["show", str(path)]) == 2
    assert "larger than 1,000 bytes" in capsys.readouterr().err
