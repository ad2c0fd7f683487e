"""As a new user would: a site by asking the cluster, looked at by the doctor, and its first verdict. Three minutes."""

import json
import subprocess

import pytest

from tests.waiting import PATIENCE_S

from .conftest import KAPPA, REPOSITORY

pytestmark = pytest.mark.long
PASS, INCOMPLETE = 0, 2
#: Options of `kappa site new` here: the GPU is a placeholder.
ASKED = "Gres=gpu:placeholder:1"
#: Cases of the smoke mode that pass or fail in each partition without the site's own references.
NEED_NO_FIGURE = (
    "Affinity", "BitSweep", "JobTurnaround", "MeasureProgram", "PartitionHealth", "PartitionState",
    "SoftwareInventory", "TransportUsed",
)  # fmt: skip


def test_from_nothing_to_a_first_verdict(suite, tmp_path):
    def kappa(*arguments):
        environment = suite.environment(
            PATH=f"{suite.state}/bin:{suite.environment()['PATH']}", KAPPA_HOME=str(tmp_path),
            KAPPA_RESULTS=str(tmp_path / "results"),
        )  # fmt: skip
        return subprocess.run(
            [KAPPA, "--sites", tmp_path, *arguments],
            env=environment, capture_output=True, text=True, timeout=10 * PATIENCE_S, check=False,
        )  # fmt: skip

    made = kappa("site", "new", "mine", "--path", str(REPOSITORY / ".kappa/osu/bin"))
    assert made.returncode == 0, made.stderr
    asked = [line for line in made.stdout.splitlines() if line.strip().startswith("FILL IN")]
    assert [line for line in asked if "peak_gflops_per_core" not in line and ASKED not in line] == []
    assert any(ASKED in line for line in asked)
    site, expected = tmp_path / "mine/site.yaml", tmp_path / "mine/expected.yaml"
    site.write_text("".join(line for line in site.read_text().splitlines(True) if "FILL IN" not in line))
    reason = "not_provided:\n  nvidia: the GPU is a placeholder\n"
    expected.write_text(expected.read_text().replace("not_provided:\n", reason))

    looked = kappa("doctor", "mine")
    assert looked.returncode == PASS, looked.stdout
    judged = kappa("validate", "mine", "smoke")
    assert judged.returncode in (PASS, INCOMPLETE), judged.stdout + judged.stderr
    said = tmp_path / "verdict.json"
    kappa("show", str(next(tmp_path.glob("results/runs/*/run-report.json"))), "--json", str(said))
    verdict = json.loads(said.read_text())
    assert verdict["counts"]["failed"] == 0
    passed = [one["name"].split()[0] for one in verdict["cases"] if one["state"] == "pass"]
    assert {name: passed.count(name) for name in NEED_NO_FIGURE} == dict.fromkeys(NEED_NO_FIGURE, 2), passed
    # Nothing is missing but references, which a new site has from theory alone.
    assert {one["what"] for one in verdict["incomplete"]} <= {"no reference"}, verdict["incomplete"]

    status = judged.returncode
    first_words = (
        ("--version", PASS), ("help validate", PASS), ("runs mine", PASS), ("show mine", status),
        ("show mine -v", status),
        (f"show mine -o {tmp_path}/page.html --format=page", PASS), ("validate mine nightly --plan", PASS),
        ("history mine --add", PASS),
        ("history mine", INCOMPLETE), ("site software mine", PASS), ("compare mine", INCOMPLETE),
    )  # fmt: skip
    ended = {words: kappa(*words.split()) for words, _ in first_words}
    wrong = {
        words: (ended[words].returncode, ended[words].stderr) for words, wanted in first_words
        if ended[words].returncode != wanted or "Traceback" in ended[words].stderr
    }  # fmt: skip
    assert not wrong, "after a first run each of these works, or says that one run is too few"
