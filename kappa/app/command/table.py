"""Every command of ``kappa``. A module is loaded when its command is called: some take seconds."""

from typing import NamedTuple


class Command(NamedTuple):
    module: str
    """Beside this file; it has ``run(arguments) -> exit status``."""
    summary: str


COMMANDS = {
    "site": Command("describe_site", "describe a cluster as a site by asking it"),
    "doctor": Command("doctor", "say whether a site can run what it promises, with the remedies"),
    "validate": Command("validate", "run the suite on a site and judge it"),
    "plan": Command("plan", "say what a run takes and writes: node-hours and bytes, by check"),
    "verdict": Command("verdict", "print PASS, FAIL or INCOMPLETE and why"),
    "html": Command("run_page", "write a run as one self-contained HTML page"),
    "compare": Command("compare", "hold a run against another: what is slower, what faster"),
    "bundle": Command("bundle", "pack what a vendor's ticket needs of a finding, without names and secrets"),
    "ingest": Command("ingest", "add new run reports to a site's history"),
    "history": Command("history", "find what became slower, and what changed then"),
    "calibrate": Command("calibrate", "fit a simulated fabric to a real partition, and state its error"),
    "learn": Command("learn", "propose references from past runs, or check those there are"),
    "nightly": Command("nightly", "run or schedule nights, and report on them"),
    "quarantine": Command("quarantine", "list nodes in quarantine, or apply a site's rule to a run"),
    "return": Command("return_node", "test nodes in quarantine and give back those that pass"),
    "acceptance": Command("acceptance", "plan, run and report the acceptance by a site's contract"),
    "verify": Command("verify", "prove that a dossier is as it was written"),
    "cluster": Command("cluster", "start, stop, inspect and enter the cluster that a site brings"),
    "fabric": Command("fabric", "list and show the fabrics of simulated machines; write SimGrid's files"),
    "software": Command("software", "see which programs and libraries have changed, and accept them"),
    "spack": Command("spack", "install the suite's Spack environments for a site"),
}
