"""ReFrame's database locked or damaged: ReFrame says so, and the JSON report, which all else is made of, is whole."""

import json
import pathlib
import sqlite3
import subprocess
import sys

import pytest

CHECK = """
import reframe as rfm
import reframe.utility.sanity as sn

@rfm.simple_test
class Echo(rfm.RunOnlyRegressionTest):
    valid_systems, valid_prog_environs, executable, local = ["*"], ["*"], "echo", True
    sanity_patterns = sn.assert_true(True)
"""


@pytest.mark.parametrize(
    ("damaged", "why"), [(True, "file is not a database"), (False, "database is locked")], ids=["damaged", "locked"]
)
def test_the_report_is_kept(tmp_path, damaged, why):
    database = tmp_path / "results.db"
    storage = {"enable": True, "backend": "sqlite", "sqlite_db_file": str(database), "sqlite_conn_timeout": 1}
    (tmp_path / "settings.py").write_text(f"site_configuration = {{'storage': [{storage}]}}")
    (tmp_path / "check.py").write_text(CHECK)
    holder = None
    if damaged:
        database.write_bytes(b"no database" * 500)
    else:
        holder = sqlite3.connect(database)
        holder.execute("BEGIN EXCLUSIVE")
    done = subprocess.run(
        [
            pathlib.Path(sys.executable).with_name("reframe"), "--nocolor", "-C", "settings.py", "-c", "check.py", "-r",
            "--report-file=report.json",
        ],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if holder:
        holder.close()
    assert f"failed to store results in the database: {why}" in done.stdout + done.stderr
    assert json.loads((tmp_path / "report.json").read_text())["session_info"]["num_cases"] == 1
