"""ReFrame's own commands work on the suite, and every check loads."""

import re

from reframe_checks.base.census import declared_checks


def test_list_detailed_names_every_check(suite):
    done = suite.reframe("--list-detailed", "--skip-system-check", "--skip-prgenv-check")
    assert set(re.findall(r"^- (\w+)", done.stdout, re.MULTILINE)) == set(declared_checks())


def test_dry_run_makes_every_case_that_the_site_offers(suite):
    done = suite.reframe("--nocolor", "--dry-run")
    assert done.returncode == 0, done.stdout
    written = len(re.findall(r"^\[ DRY +\] ", done.stdout, re.MULTILINE))
    assert written > 50
    assert f"Ran {written}/{written} test case(s)" in done.stdout
    assert "WARNING" not in done.stdout


def test_describe_gives_the_family(suite):
    done = suite.reframe("--describe", "-n", "OsuLatency")
    assert '"network/osu-pt2pt"' in done.stdout


def test_single_node_checks_distribute_over_nodes(suite):
    done = suite.reframe("-l", "--distribute=all", "-n", "Stream")
    nodes = re.findall(r"pin_nodes=\[?'?(node\d)|\.nid=(node\d)|(node\d)", done.stdout)
    assert {next(filter(None, match)) for match in nodes} == {"node1", "node2"}, done.stdout


def test_tags_select_and_no_log_is_left(suite, tmp_path):
    done = suite.reframe("-l", "--tag", "placement_same_node", TMPDIR=str(tmp_path))
    assert not list(tmp_path.iterdir())
    assert set(re.findall(r"^- (\w+)", done.stdout, re.MULTILINE)) == {
        "OsuLatency", "OsuBandwidth", "OsuBidirectionalBandwidth",
    }  # fmt: skip
