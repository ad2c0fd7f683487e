"""One job measures many nodes, and the check judges each node as if it were alone. ReFrame runs it on nodes that a
program in place of `srun` plays."""

import importlib
import json
import os
import pathlib
import subprocess
import sys

import pytest

from kappa.core.record.load import load_session
from reframe_checks.base.kept_state import measured_again

REPOSITORY = pathlib.Path(__file__).parents[3]

# Either starts a task on each of the job's nodes, or, on one of them, what the part of that node launches.
SRUN = """#!/bin/bash
echo "$*" >> "$PLAYED/calls"
while [[ $1 == -* ]]; do
  case $1 in --nodelist=*) node=${1#*=} ;; --ntasks=*) ranks=${1#*=} ;; esac
  shift
done
if [[ ${node-} ]]; then
  [[ $node == "$SLURMD_NODENAME" && ! ${SLURM_NTASKS-} ]] || exit 99
  for ((rank = 0; rank < ranks; rank++)); do "$@" || exit; done
else
  for node in n1 n2 n3; do SLURMD_NODENAME=$node SLURM_NTASKS=3 "$@"; done
fi
"""
MEASURE = """#!/bin/bash
[[ $1 == sound || $SLURMD_NODENAME != n2 ]] || case $1 in
  slow) echo "$2 3"; exit ;;
  broken) exit 7 ;;
  cut) echo "$2 "; exit ;;
  lost) kill -9 $(ps -o ppid= $(ps -o ppid= $PPID)) ;;
esac
echo "$2 8"
"""
SETTINGS = """
site_configuration = {
    "systems": [{"name": "here", "hostnames": [".*"], "partitions": [{
        "name": "cpu", "scheduler": "local", "launcher": "srun", "environs": ["plain"], "features": ["scale_one_node"],
        "processor": {"num_cpus": 2, "num_cpus_per_core": 1, "num_cpus_per_socket": 2, "num_sockets": 1},
        "extras": {"nodes": 8, "tuning": {}},
    }]}],
    "environments": [{"name": "plain"}],
    "general": [{"trap_job_errors": True, "report_file": "report.json"}],
}
"""
CHECK = """
import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from reframe_checks.base.check import KappaCheck
from reframe_checks.base.many_nodes import ManyNodes
from reframe_checks.base.scaled import Scaled


@rfm.simple_test
class Played(ManyNodes, Scaled, KappaCheck):
    family = "played/nodes"
    estimated_s = 1
    scale = rfmb.parameter(["one_node"], loggable=True)
    planted = rfmb.parameter(["sound", "slow", "broken", "cut", "lost"], loggable=True)
    repeats = 2
    executable = "measure"
    informational = ["waited"]

    @rfmb.run_after("setup")
    def command_line(self):
        self.prerun_cmds = [*self.prerun_cmds, 'echo "before $SLURMD_NODENAME" > before.txt']
        self.executable_opts = [self.planted, "rate"]

    @rfmb.run_before("run")
    def input_and_end(self):
        self.postrun_cmds = [*self.postrun_cmds, "cat before.txt input.txt > after.txt"]
        with open(f"{self.stagedir}/input.txt", "w") as file:
            file.write("shared")

    @rfmb.sanity_function
    def read(self):
        if self.num_tasks != 2 or self.executable != "measure":
            raise SanityError(f"{self.num_tasks} ranks of {self.executable}")
        (node,) = self.provenance["nodelist"]
        if self.output_text("after.txt") != f"before {node}\\nshared":
            raise SanityError("another node's files")
        try:
            self.rates = [float(line.split(" ")[1]) for line in self.output_text().splitlines()]
        except ValueError:
            raise SanityError("no rate") from None
        self.parsed(len, f"srun: on {node}\\n")
        self.record_curve("rates", ("Run", ""), ("Rate", "MB/s"), dict(enumerate(self.rates)), {})
        return len(self.rates) == 4

    def wrote_bytes(self):
        return len(self.rates)

    @rfmb.performance_function("MB/s")
    def rate(self):
        return max(self.rates)

    @rfmb.performance_function("s")
    def waited(self):
        return 16 / max(self.rates)

    @rfmb.run_after("sanity")
    def leave_out_what_did_not_run(self):
        if self.num_tasks == 2:
            del self.perf_variables["of_more_ranks"]

    @rfmb.performance_function("MB/s")
    def of_more_ranks(self):
        return None
"""
REFERENCES = """
Played:
  $index: [scale]
  one_node: {rate: [10, -0.5, null, MB/s]}
$sources:
  - {match: "*", source: theoretical, date: 2026-11-24, samples: 0, method: as the program says}
"""


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """The recorded cases by what was planted, and what `srun` was called with."""
    folder = tmp_path_factory.mktemp("played")
    for name, text in (("srun", SRUN), ("measure", MEASURE)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    (folder / "settings.py").write_text(SETTINGS)
    (folder / "played.py").write_text(CHECK)
    (folder / "played.yaml").write_text(REFERENCES)
    environment = {
        **os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "PLAYED": str(folder), "PYTHONPATH": str(REPOSITORY),
        "SLURM_JOB_NODELIST": "n[1-3]", "RFM_REFERENCE_PREFIX": str(folder),
    }  # fmt: skip
    done = subprocess.run(
        [
            sys.executable, "-c", "from reframe.frontend.cli import main; main()", "-C", "settings.py",
            "-c", "played.py", "-r", "-S", "nodes_at_once=3", "-S", "keep_state=yes", "--prefix", folder,
            "--keep-stage-files",
        ],
        env=environment, cwd=folder, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    report = folder / "report.json"
    assert report.exists(), done.stdout + done.stderr
    cases = {case["planted"]: case for case in json.loads(report.read_text())["runs"][0]["testcases"]}
    return cases, (folder / "calls").read_text().splitlines()


def test_each_node_has_its_part_and_starts_its_ranks_there(played):
    cases, calls = played
    assert cases["sound"]["result"] == "pass", cases["sound"]["fail_reason"]
    assert cases["sound"]["num_tasks"] == 6
    outer = [call for call in calls if "on_node.sh" in call]
    assert len(outer) == 5 and all("--nodes=3 --ntasks=3 --ntasks-per-node=1 " in call for call in outer)
    inner = [call for call in calls if "measure sound" in call]
    assert len(inner) == 6 and {f"--nodelist=n{number}" for number in (1, 2, 3)} == {
        word for call in inner for word in call.split() if word.startswith("--nodelist")
    }
    assert all("--overlap" in call and "--ntasks=2" in call for call in inner)


def test_lines_of_others_are_counted_over_all_nodes(played):
    assert played[0]["slow"]["notes"] == ["3 lines of Slurm in the output set aside, the first: srun: on n1"]


def test_every_metric_is_evidence_of_each_node_and_the_worst_is_the_metric(played):
    case = played[0]["slow"]
    assert case["per_node"] == {
        "rate": {"unit": "MB/s", "values": {"n1": 8, "n2": 3, "n3": 8}},
        "waited": {"unit": "s", "values": {"n1": 2, "n2": 16 / 3, "n3": 2}},
    }
    assert [value[0] for value in case["perfvalues"].values()] == [3, 16 / 3]
    assert case["declared_metrics"] == ["rate", "waited"], "what one node does not measure is left out"
    assert case["suspects"] == ["n2"] and case["result"] == "fail" and case["fail_phase"] == "performance"
    assert case["reference_sources"]["rate"]["source"] == "theoretical"
    assert case["written_bytes"] == 12
    assert case["curves"]["rates"]["points"] == [[0, 3], [1, 3], [2, 3], [3, 3]], "of the worst node"


@pytest.mark.parametrize("planted", ["sound", "slow"])
def test_kept_output_of_all_nodes_gives_the_same_figures(played, planted, monkeypatch):
    recorded = played[0][planted]
    folder = pathlib.Path(recorded["stagedir"])
    monkeypatch.syspath_prepend(folder.parents[4])
    case = next(one for one in load_session(folder.parents[4] / "report.json").runs[0] if one.name == recorded["name"])
    check = measured_again(importlib.import_module("played").Played, case, pathlib.Path(case.folder))
    assert {key: figure[0] for key, figure in check.perfvalues.items()} == {
        key: figure[0] for key, figure in recorded["perfvalues"].items()
    }
    assert check.per_node == recorded["per_node"]
    assert json.loads(json.dumps(check.curves)) == recorded["curves"]


@pytest.mark.parametrize(
    ("planted", "said"),
    [
        ("broken", "n2: failed (exit code: 7): srun "),
        ("cut", "n2: no rate"),
        ("lost", "n2: the node's part did not reach its end"),
    ],
)
def test_a_node_that_gave_nothing_is_named_alone(played, planted, said):
    case = played[0][planted]
    assert case["result"] == "fail" and said in case["fail_reason"]
    assert case["suspects"] == ["n2"]
    assert set(case["per_node"]["rate"]["values"]) == {"n1", "n3"}


def test_what_all_nodes_gave_stays_with_the_result(played):
    folder = pathlib.Path(played[0]["sound"]["outputdir"])
    assert (folder / "nodes/n3/rfm_job.out").read_text() == "rate 8\n" * 4
    assert (folder / "part_of_node.sh").exists()
    assert not any(path.is_symlink() for path in folder.rglob("*"))
