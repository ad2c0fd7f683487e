"""The energy that each job of a report took, where Slurm's accounting gathers it: one question for all jobs."""

import contextlib
import json
import pathlib
import re
from typing import Any

from kappa.conduct.node_commands import NodeCommands
from kappa.ground.errors import InputError
from kappa.ground.whole_files import write_atomically
from kappa.sites.site_file import describe

ANSWER_S = 30.0
# Of more digits is only the number that says that there is none.
_ROW = re.compile(r"([0-9]{1,20})\|([0-9]{1,18})")


def add_energy(report: pathlib.Path, site: pathlib.Path) -> None:
    """Write ``energy_j`` into the cases of a whole report; nothing where there is no accounting, or none of energy."""
    document = json.loads(report.read_bytes())
    cases = {str(case["jobid"]): case for case in _cases(document) if _is_job(case)}
    if not cases:
        return
    # It is informational: without an answer the report stays as it is.
    with contextlib.suppress(InputError):
        command = ["sacct", "-n", "-P", "-X", "-o", "JobIDRaw,ConsumedEnergyRaw", "-j", ",".join(cases)]
        found = energies(NodeCommands(describe(site)).run(command, ANSWER_S))
        for job in found.keys() & cases.keys():
            cases[job]["energy_j"] = found[job]
        if found:
            write_atomically(report, json.dumps(document, indent=2), report.stat().st_mode & 0o777)


def energies(said: str) -> dict[str, int]:
    """Joules by job, of ``sacct -nPX -o JobIDRaw,ConsumedEnergyRaw``; without those that were not measured."""
    known = {row[1]: int(row[2]) for row in map(_ROW.fullmatch, said.splitlines()) if row}
    return {job: energy for job, energy in known.items() if energy}


def _is_job(case: dict[str, Any]) -> bool:
    """Of a case that ran without Slurm ReFrame records the process's number."""
    return case.get("scheduler") != "local" and not case.get("local") and str(case.get("jobid")).isdecimal()


def _cases(document: Any) -> list[dict[str, Any]]:
    runs = document.get("runs", []) if isinstance(document, dict) else []
    return [case for run in runs for case in run["testcases"]]
