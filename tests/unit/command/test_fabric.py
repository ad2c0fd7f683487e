import copy
import shutil

import pytest
import yaml

from kappa.app.command.main import main
from tests.unit.fabrics.conftest import DOCUMENT, SHIPPED


def test_each_fabric_in_a_line(capsys):
    assert main(["fabric", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(list(SHIPPED.glob("*.yaml")))
    assert any(line.split()[:6] == ["nsim-ace-256", "fat", "tree", "256", "x", "2"] for line in lines)


def test_every_number_with_its_source(capsys):
    assert main(["fabric", "show", "nsim-ace-16"]) == 0
    out = capsys.readouterr().out
    assert "software.node_latency_us" in out
    assert "NSIM-ACE, Table 1: cable latency 0.6 ns" in out
    assert "smpi/coll-selector=mpich" in out


def test_what_a_calibration_found_is_shown(capsys, tmp_path):
    document = copy.deepcopy(DOCUMENT)
    sizes = {"bytes": [8, 4096], "send_us": [0.5, 1.5], "isend_us": [0.25, 1.25], "receive_us": [0.75, 1.75]}
    document["software"]["by_size"] = {"source": "a calibration of a test", **sizes}
    held_out = {"check": "an allreduce", "figures": 7, "median_factor": 1.1, "largest_factor": 1.4}
    document["calibration"] = {"held_out": [held_out]}
    (tmp_path / "made.yaml").write_text(yaml.safe_dump(document, sort_keys=False))
    assert main(["fabric", "--folder", str(tmp_path), "show", "made"]) == 0
    out = capsys.readouterr().out
    assert "software.by_size: a calibration of a test" in out
    assert ["isend_us", "0.25", "1.25"] in [line.split() for line in out.splitlines()]
    assert "an allreduce, 7 figures: off by a factor of 1.1 in the median and 1.4 at most" in out


def test_files_for_simgrid(capsys, tmp_path):
    path = tmp_path / "platform.xml"
    assert main(["fabric", "platform", "hdr-8", "--variant", "shared", "-o", str(path)]) == 0
    assert main(["fabric", "platform", "hdr-8", "--variant", "shared"]) == 0
    assert capsys.readouterr().out == path.read_text()
    assert main(["fabric", "hosts", "hdr-8", "--nodes", "2", "--ranks-per-node", "2"]) == 0
    assert capsys.readouterr().out == "n0\nn0\nn1\nn1\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "hrd-8"], "did you mean 'hdr-8'?"),
        (["platform", "hdr-8", "--variant", "degraded"], "no variant 'degraded', only sound, shared"),
        (["platform", "hdr-8", "--nodes", "9"], "to 8 nodes, found 9"),
        (["platform", "hdr-8", "--node-latency-us", "-1"], "expected a node latency of 0 us or more, found -1"),
        (["hosts", "hdr-8", "--nodes", "9", "--ranks-per-node", "1"], "to 8 nodes, found 9"),
        (["hosts", "hdr-8", "--nodes", "1", "--ranks-per-node", "7"], "to 6 ranks per node, found 7"),
    ],
)
def test_what_cannot_be_is_said(capsys, arguments, message):
    assert main(["fabric", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_broken_fabric_does_not_hide_the_others(capsys, tmp_path):
    shutil.copy(SHIPPED / "hdr-8.yaml", tmp_path)
    (tmp_path / "broken.yaml").write_text("name: broken\n")
    assert main(["fabric", "--folder", str(tmp_path), "list"]) == 2
    captured = capsys.readouterr()
    assert "hdr-8" in captured.out
    assert "broken.yaml: line 1" in captured.err
