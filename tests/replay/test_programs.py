"""Checks on recorded output of every program that they may find installed: whole cases, run by ReFrame and judged.

`expected.yaml` has what each has to give; a metric that is lost, new or another fails here, wherever the program itself
cannot be had.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from kappa.app.conduct.rereading import differences
from kappa.core.record.load import load_session
from tests.replay.composed_site import BELOW, TOLERANCE, table, write_site
from tests.replay.machines import MACHINES
from tests.waiting import PATIENCE_S

REPOSITORY = Path(__file__).parents[2]
TABLE = table()
NAMES = [" ".join(filter(None, [one.machine, one.check, one.value])) for one in TABLE]


def parameters(name):
    return dict(word.lstrip("%").split("=", 1) for word in name.split() if word.startswith("%"))


def command(root, *words):
    return subprocess.run(
        [Path(sys.executable).with_name(words[0]), *words[1:]],
        env={**os.environ, "RFM_REFERENCE_PREFIX": str(root / "references")},
        cwd=root, capture_output=True, text=True, timeout=2 * PATIENCE_S, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """The site's folder, after one run of all that the table has."""
    root = tmp_path_factory.mktemp("replay")
    write_site(root)
    selected = "|".join(sorted({one.selected for one in TABLE}))
    done = command(
        root, "reframe", "-C", root / "settings.yaml", "-c", REPOSITORY / "reframe_checks", "-R", "-r",
        "--prefix", root, f"--report-file={root / 'report.json'}", "-n", selected, "-S", "keep_state=yes",
    )  # fmt: skip
    assert (root / "report.json").is_file(), done.stdout + done.stderr
    return root


@pytest.fixture(scope="module")
def entries(session):
    """ReFrame's entries of the cases, by machine and check."""
    found = {}
    for case in json.loads((session / "report.json").read_text())["runs"][-1]["testcases"]:
        found.setdefault((case["partition"], case.get("check_class")), []).append(case)
    return found


@pytest.fixture(scope="module")
def judged(session):
    """Return `kappa show`'s text about each case."""
    done = command(session, "kappa", "show", session / "report.json", "--json", "-")
    return json.loads(done.stdout)["cases"]


def of_row(judged, one, suffix=""):
    return [
        case
        for case in judged
        if (case["partition"], case["check_class"]) == (one.machine + suffix, one.check)
        and (not one.parameter or parameters(case["name"])[one.parameter] == one.value)
    ]


@pytest.mark.parametrize("one", TABLE, ids=NAMES)
def test_passes_with_the_recorded_figures_and_no_others(judged, one):
    cases = of_row(judged, one)
    assert len(cases) == one.cases
    for case in cases:
        assert case["state"] == "pass", case["operator_line"]
        found = {metric["name"]: (metric["value"], metric["unit"]) for metric in case["metrics"]}
        assert found == {
            name: (pytest.approx(value, rel=TOLERANCE), unit) for name, (value, unit) in one.metrics.items()
        }
        assert {metric["source"] for metric in case["metrics"]} == {"learned"}


@pytest.mark.parametrize("one", TABLE, ids=NAMES)
def test_fails_where_each_figure_is_below_its_reference(judged, one):
    cases = of_row(judged, one, BELOW)
    assert cases
    for case in cases:
        assert case["state"] == "fail"
        assert {metric["name"]: metric["state"] for metric in case["metrics"]} == dict.fromkeys(one.metrics, "fail")


def test_the_table_has_every_case_that_ran(judged):
    told = [
        case["name"] + case["partition"]
        for one in TABLE
        for suffix in ("", BELOW)
        for case in of_row(judged, one, suffix)
    ]
    assert max(Counter(told).values()) == 1
    assert len(told) == len([case for case in judged if case["check_class"]])
    assert {one.machine for one in TABLE} == {machine.name for machine in MACHINES}


def test_each_case_gives_its_figures_again_from_its_kept_output(session):
    """Also where ReFrame left the output in the stage folder, because the case failed."""
    compared = set()
    for case in load_session(session / "report.json").runs[0]:
        if case.metrics:
            assert list(differences(case, Path(case.folder))) == [], case.title
            compared.add(case.check_class)
    assert compared == {one.check for one in TABLE}


def test_the_slowest_gpu_is_named(entries):
    hint = entries["babelstream", "BabelStream"][0]["hint"]
    assert hint.startswith("GPU 0 (NVIDIA A100-SXM4-80GB) is the slowest;")


def test_curves_of_hpl_on_gpus_over_nodes(entries):
    case = entries["hpl-nvidia", "HplNvidiaScaling"][0]
    peak_of_node = 4 * 60000 + 4 * 50
    curves = {name: curve["points"] for name, curve in case["curves"].items()}
    assert curves == {
        "T(P, 299008)": [[1, pytest.approx(105.76, abs=0.01)], [2, pytest.approx(52.88, abs=0.005)]],
        "S(P, 299008)": [[1, 1], [2, 2]],
        "SP(1, N)": [[299008, 168500]],
        "SPF(1, N)": [[299008, pytest.approx(168500 / peak_of_node)]],
        "SP(2, N)": [[299008, 337000]],
        "SPF(2, N)": [[299008, pytest.approx(337000 / (2 * peak_of_node))]],
    }


def test_curve_of_nccl(entries):
    curve = entries["nccl", "NcclAllReduce"][0]["curves"]["bus_bandwidth"]
    assert curve["points"][0] == [1 << 20, 0.24]
    assert curve["gated"] == {str(1 << 27): "bus_bandwidth"}


def test_heat_maps(entries):
    peers = entries["nvbandwidth", "NvBandwidthPeers"][0]["heat_maps"]
    assert len(peers["device_to_device_memcpy_read_ce"]["points"]) == 42
    assert len(entries["stream", "StreamNuma"][0]["heat_maps"]["triad"]["points"]) == 4
