"""A campaign made of recorded results: what ``run`` leaves, without a cluster."""

import copy
import json
import pathlib
import re
import subprocess
import uuid

import pytest
import yaml

from kappa.app.conduct import acceptance as running
from kappa.app.conduct.session import CHECKS, Conductor
from kappa.core.ground.processes import Stop
from kappa.core.record.series import CaseSeries
from kappa.core.sites.load import Site
from reports.acceptance.campaign.folder import Campaign
from reports.acceptance.campaign.layout import CONTRACT, MEASURED, REPORT
from reports.acceptance.campaign.measured import note_measured
from reports.acceptance.contract import binding_contract, load_contract
from reports.acceptance.dossier import write_dossier
from reports.acceptance.kinds.clause import Planning
from reports.acceptance.plan import AcceptancePlan, Offer, PlannedSeries, plan, wanted_series
from reports.plan.plan import Offered, PlannedCase
from tests.unit.reports.samples import Document, latency, report

CLAUSE: Document = {
    "id": "B1",
    "text": "A message of 8 B takes at most 10 us.",
    "selector": {"check": "OsuLatency", "partition": "cpu", "metric": "latency_8B"},
    "statistic": "median",
    "comparison": "at_most",
    "threshold": {"value": 10, "unit": "us"},
    "repeats": 3,
    "mandatory": True,
}


SERIES = CaseSeries("OsuLatency %placement=two_nodes", "cpu", "packaged")


def offer(series, offered, nodes=2, seconds=600):
    planned = PlannedCase(Offered(series, "OsuLatency", "", nodes, seconds, 0), seconds, 0, 0)
    return Offer(planned, offered, CHECKS)


def clause(**changes):
    return {**copy.deepcopy(CLAUSE), **changes}


def contract(*clauses, **head):
    head = {"title": "Test", "system": "embedded", "date": "2026-11-21", "parties": {"buyer": "B"}, **head}
    return {"contract": head, "clauses": list(clauses) or [clause()]}


class Filled(Campaign):
    """A campaign that can be filled with attempts."""

    def demand(self, *clauses, **head):
        self.folder.mkdir(exist_ok=True)
        (self.folder / CONTRACT).write_text(yaml.safe_dump(contract(*clauses, **head), allow_unicode=True))
        return self

    @property
    def contract(self):
        return binding_contract(self.folder)

    def plan(self, offered):
        """Plan the contract with the cases that a site offers."""
        planning = Planning(self.contract, self.folder / CONTRACT, None, None, None)
        return plan(planning, wanted_series(planning), offered)

    def run(self, repeats=3, again=False):
        """Run the repeats of ``SERIES`` that are left."""
        planned = AcceptancePlan((PlannedSeries(offer(SERIES, None), ("B1",), repeats),), {})
        with self.locked() as lock:
            conductor = Conductor(Stop(), [lock])
            running.run_series(self, self.contract, planned, Site(self.folder), conductor, again)

    def add(self, case, repeat=1, number=1, session=None, raw=(), noted=True):
        """An attempt that recorded ``case``; without one it was interrupted.

        :param raw: name -> content of its further files.
        :param noted: whether it is in the chain of measurements.
        """
        recorded = case or latency()
        series = CaseSeries(recorded["name"], recorded["partition"], recorded["environ"])
        attempt = self.begin(series, repeat, number)
        if case:
            document = report([case], uuid=session or str(uuid.uuid4()))
            (attempt.folder / REPORT).write_text(json.dumps(document))
            for name, content in dict(raw).items():
                (attempt.folder / name).parent.mkdir(parents=True, exist_ok=True)
                (attempt.folder / name).write_text(content)
            if noted:
                note_measured(attempt.folder)
        return attempt

    def write_chain_anew(self):
        """As an attacker does after a change."""
        (self.folder / MEASURED).unlink()
        for attempt in self.attempts():
            if (attempt.folder / REPORT).exists():
                note_measured(attempt.folder)

    def dossier(self, pdf=False, how_signed=None):
        """Write the dossier beside the campaign, and return its folder."""
        target = self.folder.with_name("dossier")
        write_dossier(self, target, pdf, how_signed)
        return target

    def measure(self, *values, **changes):
        for repeat, value in enumerate(values, start=1):
            self.add(latency(value=value, **changes), repeat)
        return self


@pytest.fixture
def load(tmp_path):
    """Read the text of a contract."""

    def from_text(text):
        path = tmp_path / "acceptance.yaml"
        path.write_text(text, errors="surrogateescape")
        return load_contract(path)

    return from_text


@pytest.fixture
def campaign(tmp_path: pathlib.Path):
    return Filled(tmp_path / "campaign").demand()


@pytest.fixture
def dossier(campaign):
    return campaign.measure(9, 9, 9).dossier()


@pytest.fixture
def keyring(tmp_path, monkeypatch):
    """Fingerprints by name."""
    home = tmp_path / "gnupg"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("GNUPGHOME", str(home))
    fingerprints = {}
    for name in ("Buyer", "Vendor"):
        make = ["--passphrase", "", "--quick-generate-key", f"{name} <{name}@example.org>", "ed25519", "sign"]
        done = subprocess.run(["gpg", "--batch", "--status-fd=1", *make], check=True, capture_output=True, text=True)
        fingerprints[name] = re.search("KEY_CREATED P ([0-9A-F]{40})", done.stdout)[1]
    yield fingerprints
    subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "gpg-agent"], check=False)


@pytest.fixture
def keys(tmp_path):
    """(public, secret) files of minisign's by name."""
    made = {name: (str(tmp_path / f"{name}.pub"), str(tmp_path / name)) for name in ("Buyer", "Vendor")}
    for public, secret in made.values():
        subprocess.run(["minisign", "-G", "-W", "-p", public, "-s", secret], check=True, capture_output=True)
    return made
