"""What each job of a report took, by Slurm's accounting: nodes, seconds and, where gathered, energy; one question."""

import contextlib
import json
import pathlib
import re
from typing import Any

from kappa.app.conduct.node_commands import NodeCommands
from kappa.core.ground.errors import InputError
from kappa.core.ground.whole_files import write_atomically
from kappa.core.sites.site_file import describe

ANSWER_S = 30.0
_ROW = re.compile(r"([0-9]{1,20})\|([0-9]{1,9})\|([0-9]{1,6})\|([0-9]{0,20})")
# Of more digits is only the number that says that no energy was measured.
_MOST_DIGITS = 18


def add_accounting(report: pathlib.Path, site: pathlib.Path) -> None:
    """Write ``job_s``, ``job_nodes`` and ``energy_j`` into the cases of a whole report; nothing without accounting."""
    document = json.loads(report.read_bytes())
    cases = {str(case["jobid"]): case for case in _cases(document) if _is_job(case)}
    if not cases:
        return
    # It is informational: without an answer the report stays as it is.
    with contextlib.suppress(InputError):
        fields = "JobIDRaw,ElapsedRaw,NNodes,ConsumedEnergyRaw"
        commands = NodeCommands(describe(site))
        command = [*commands.sacct, "-n", "-P", "-X", "-o", fields, "-j", ",".join(cases)]
        found = accounts(commands.run(command, ANSWER_S))
        for job in found.keys() & cases.keys():
            cases[job].update(found[job])
        if found:
            write_atomically(report, json.dumps(document, indent=2), report.stat().st_mode & 0o777)


def accounts(said: str) -> dict[str, dict[str, int]]:
    """By job, of what ``sacct`` says of these fields; without energy that was not measured."""
    rows = (row for row in map(_ROW.fullmatch, said.splitlines()) if row)
    return {row[1]: {"job_s": int(row[2]), "job_nodes": int(row[3]), **_energy(row[4])} for row in rows}


def _energy(told: str) -> dict[str, int]:
    return {"energy_j": int(told)} if told.strip("0") and len(told) <= _MOST_DIGITS else {}


def _is_job(case: dict[str, Any]) -> bool:
    """Of a case that ran without Slurm ReFrame records the process's number."""
    return case.get("scheduler") != "local" and not case.get("local") and str(case.get("jobid")).isdecimal()


def _cases(document: Any) -> list[dict[str, Any]]:
    runs = document.get("runs", []) if isinstance(document, dict) else []
    return [case for run in runs for case in run["testcases"]]
