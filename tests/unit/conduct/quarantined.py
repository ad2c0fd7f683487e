"""A site with a rule, beside Slurm's commands as scripts; a finding, and nodes in quarantine for it."""

import json
import pathlib
import sys

import pytest

from kappa.app.conduct import node_commands
from kappa.app.conduct.quarantine import Quarantine
from kappa.core.record.actions import Action, load_actions
from kappa.core.sites.load import Site
from tests.unit.conduct.slurm import Slurm
from tests.unit.quarantine.samples import NOW, proof
from tests.unit.reports.samples import latency, report
from tests.unit.sites.test_site import EXPECTED, GOOD, SETTINGS

RULE = """\
path: [slurm/bin]
quarantine:
  drain: [scontrol, update, "NodeName={node}", State=DRAIN, "Reason={reason}"]
  resume: [scontrol, update, "NodeName={node}", State=RESUME]
  evidence: [confirmed, facts]
  most_a_night: 9
"""
EVIDENCE = (proof(check="OsuLatency"),)
NAMED = {"node2": EVIDENCE}


class Ward:
    """``quarantine`` follows the rule; ``reframe`` is a script."""

    def __init__(self, folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.slurm, self.results = folder, Slurm(folder / "slurm"), folder / "results"
        self.site = folder / "site_configs/here"
        self.site.mkdir(parents=True)
        (self.site / "expected.yaml").write_text(EXPECTED)
        (self.site / "settings.py").write_text(SETTINGS.read_text())
        monkeypatch.setattr(node_commands, "SETTLE_S", 0.5)
        monkeypatch.setattr(sys, "executable", str(folder / "python"))
        self.follow(RULE)
        self.measures(9.0)

    def follow(self, rule: str) -> None:
        (self.site / "site.yaml").write_text(rule + GOOD)
        self.quarantine = Quarantine.required(Site(self.site), self.results)

    def measures(self, value: float, script: str = "true") -> None:
        """Set ReFrame's report of node2 from now on; ``script`` runs before."""
        entry = latency(value=value, job_nodelist=["node2"], system="here")
        entry |= {"provenance": {**entry["provenance"], "nodelist": ["node2"]}}
        entry["perfvalues"] = {key.replace("embedded", "here"): of for key, of in entry["perfvalues"].items()}
        (self.folder / "report.json").write_text(json.dumps(report([entry])))
        program = self.folder / "reframe"
        program.write_text(
            "#!/bin/bash\nfor word; do case $word in --report-file=*) report=${word#*=} ;; esac; done\n"
            f'cd {self.slurm.folder}; echo "reframe $*" >> called\n{script}\ncp {self.folder}/report.json "$report"\n'
        )
        program.chmod(0o755)

    def does(self, when: str, script: str) -> None:
        """``scontrol`` does this besides, ``before`` or ``after`` what it is told."""
        (self.slurm.folder / when).write_text(script)

    def drained(self) -> Action:
        """node2 in quarantine, as by an earlier night."""
        quarantine = self.quarantine
        [action] = quarantine.drain(quarantine.decided(NAMED, NOW, "runs/1"))
        assert action.outcome == "done"
        (self.slurm.folder / "called").unlink()
        return action

    @property
    def recorded(self) -> list[tuple[str, str]]:
        return [(action.what, action.outcome) for action in load_actions(self.results / "history")]
