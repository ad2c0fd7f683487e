"""From reports to a patch that applies."""

import datetime
import shutil
import subprocess

import numpy as np
import pytest
import yaml

from kappa.app.command.main import main
from kappa.core.ground.folders import history_folder
from kappa.core.sites.references import read_sources
from tests.unit.history.nights import history_of, night, write
from tests.unit.reports.samples import case, latency

REFERENCES = """\
# Kept as it is.
OsuLatency: &latency
  $index: [placement]
  two_nodes: {latency_8B: [500, null, 0, us], latency_1MiB: [25000, null, 0, us]}   # and this
OsuOther: *latency

$sources:
  - match: "*"
    source: theoretical
    date: %s
    samples: 0
    method: a guess
"""
VALUES = (10 + 0.1 * np.random.default_rng(5).standard_normal(30)).tolist()


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A function that makes a site with these nights and a reference file of this age."""
    monkeypatch.chdir(tmp_path)

    def make(nights, days=1, text=REFERENCES):
        references = tmp_path / "site_configs/here/references"
        references.mkdir(parents=True)
        date = datetime.datetime.now(datetime.UTC).date() - datetime.timedelta(days=days)
        path = references / "network.yaml"
        path.write_text(text % date if "%s" in text else text, encoding="utf-8")
        history_of(tmp_path / "results/here", nights)
        return path

    return make


def learn(capsys, *arguments):
    status = main(["learn", "here", *arguments])
    captured = capsys.readouterr()
    said = "".join(line for line in captured.err.splitlines(keepends=True) if " finds " not in line)
    return status, captured.out, said


def test_the_patch_applies_and_says_where_the_reference_comes_from(site, capsys):
    path = site([[latency(value=value)] for value in VALUES])
    before = path.read_text(encoding="utf-8")
    status, patch, _ = learn(capsys)
    assert (status, path.read_text(encoding="utf-8")) == (0, before)
    subprocess.run(["patch", "-p1"], input=patch, text=True, check=True, capture_output=True)
    after = path.read_text(encoding="utf-8")
    assert "# Kept as it is." in after and "# and this" in after
    document = yaml.safe_load(after)
    value, lower, upper, unit = document["OsuLatency"]["two_nodes"]["latency_8B"]
    assert (value, lower, unit) == (pytest.approx(10, rel=0.01), None, "us")
    assert 0.02 < upper < 0.06
    assert document["OsuLatency"]["two_nodes"]["latency_1MiB"] == [25000, None, 0, "us"]
    source = read_sources(path)[0]
    assert (source.match, source.source) == ("OsuLatency.two_nodes.latency_8B", "learned")
    assert source.samples == 30
    assert "2026-01-20 to 2026-02-18" in source.method


def test_it_is_said_what_the_bounds_find_the_weakest_first(site, capsys):
    noisy = {"check_class": "OsuOther", "name": "OsuOther %placement=two_nodes"}
    path = site([[latency(value=value), latency(value=10 + 3 * (value - 10), **noisy)] for value in VALUES])
    assert main(["learn", "here"]) == 0
    said = capsys.readouterr()
    first, second = said.err.splitlines()
    assert first.startswith("OsuOther.two_nodes.latency_8B: finds ") and "OsuLatency" in second
    subprocess.run(["patch", "-p1"], input=said.out, text=True, check=True, capture_output=True)
    found = {source.match: source for source in read_sources(path)}
    noisy, quiet = (found[f"{name}.two_nodes.latency_8B"] for name in ("OsuOther", "OsuLatency"))
    assert 0.03 < quiet.finds_in_a_run < 0.1 < noisy.finds_in_a_run < 0.3
    assert quiet.finds_in_a_week <= quiet.finds_in_a_run


def test_a_site_of_many_series_says_that_it_finds_less_in_a_week(site, capsys):
    """A night judges each of them at a lower rate of false alarms; the bounds stay what they are."""
    weeks = []
    for others in (0, 400):
        shutil.rmtree("site_configs", ignore_errors=True)
        shutil.rmtree("results", ignore_errors=True)
        more = [latency(name=f"OsuLatency %placement=many %number={number}") for number in range(others)]
        path = site([[latency(value=value)] for value in VALUES] + [more])
        subprocess.run(["patch", "-p1"], input=learn(capsys)[1], text=True, check=True, capture_output=True)
        found = yaml.safe_load(path.read_text(encoding="utf-8"))["$sources"][0]
        weeks.append((found["finds_in_a_run"], found["finds_in_a_week"]))
    (run, week), (run_of_many, week_of_many) = weeks
    assert run_of_many == run
    assert week_of_many > week


def test_a_check_that_shares_its_references_keeps_them(site, capsys):
    path = site([[latency(value=value)] for value in VALUES])
    subprocess.run(["patch", "-p1"], input=learn(capsys)[1], text=True, check=True, capture_output=True)
    shared = yaml.safe_load(path.read_text(encoding="utf-8"))["OsuOther"]
    assert shared["two_nodes"]["latency_8B"] == [500, None, 0, "us"]


def test_learning_again_replaces_the_source(site, capsys):
    path = site([[latency(value=value)] for value in VALUES])
    for _ in range(2):
        subprocess.run(["patch", "-p1", "-f"], input=learn(capsys)[1], text=True, check=False, capture_output=True)
    assert len(read_sources(path)) == 2


def test_runs_with_a_failed_node_check_are_left_out(site, capsys):
    bad = case("PartitionHealth", result="fail", suspects=["node2"], perfvalues={})
    site([[latency(value=value)] for value in VALUES] + [[latency(value=40.0), bad]] * 25)
    status, patch, _ = learn(capsys)
    assert status == 0
    assert "median of 30 values" in patch


def test_transients_are_left_out(site, capsys):
    """The first value of each; what was measured again is no part of a series anyway."""
    path = site([[latency(value=value)] for value in VALUES] + [[latency(value=900.0)]] * 2)
    for number in (30, 31):
        again = night(number, [latency(value=10.0)], uuid=f"{number}", purpose="same-nodes", confirms=f"night-{number}")
        write(path.parents[3] / "results/here/runs", number + 2, again)
    assert main(["history", "here", "--add"]) == 0
    capsys.readouterr()
    status, patch, _ = learn(capsys)
    assert (status, "median of 30 values" in patch, "0 outliers" in patch) == (0, True, True)


def test_outliers_are_left_out_and_counted(site, capsys):
    site([[latency(value=value)] for value in [*VALUES[:10], 40.0, *VALUES[10:]]])
    status, patch, _ = learn(capsys)
    assert (status, "median of 30 values" in patch, "1 outliers left out" in patch) == (0, True, True)


def test_a_refusal_says_why(site, capsys):
    site([[latency(value=value)] for value in VALUES[:5]])
    assert learn(capsys) == (
        1, "", "no reference for OsuLatency.two_nodes.latency_8B: 5 values, at least 20 needed\n",
    )  # fmt: skip


def test_a_check_that_no_reference_file_has_is_named_with_what_to_add(site, capsys):
    stranger = {"check_class": "Stranger", "name": "Stranger %scale=one_node %target=nvme"}
    nights = [[latency(value=value), latency(value=value, **stranger)] for value in VALUES]
    path = site(nights)
    status, _, said = learn(capsys)
    assert (status, said) == (
        0,
        "no reference file has Stranger: add `Stranger: {$index: [scale, target]}` to network.yaml; "
        "keep only the keys of $index by which its references differ\n",
    )
    path.write_text(path.read_text(encoding="utf-8") + "Stranger: {$index: [scale, target]}\n", encoding="utf-8")
    _, patch, said = learn(capsys)
    assert said == ""
    assert "+Stranger: {$index: [scale, target], one_node: {nvme: {latency_8B:" in patch


def test_a_check_without_parameters_needs_no_index(site, capsys):
    only = {"check_class": "Stranger", "name": "Stranger"}
    path = site([[latency(value=value), latency(value=value, **only)] for value in VALUES])
    assert learn(capsys)[2] == "no reference file has Stranger: add `Stranger: {}` to network.yaml\n"
    path.write_text(path.read_text(encoding="utf-8") + "Stranger: {}\n", encoding="utf-8")
    assert "+Stranger:\n+  latency_8B: [" in learn(capsys)[1]


def test_informational_metrics_are_left_out_and_counted(site, capsys):
    informational = latency()["perfvalues"]["embedded:cpu:latency_8B"]
    nights = [
        [latency(perfvalues={
            "embedded:cpu:latency_8B": [value, *informational[1:]],
            "embedded:cpu:step_time_p99": [value, 0, None, None, "us", "pass"],
            "embedded:cpu:bounded_by_the_site": [value, 20, None, 0, "us", "pass"],
        }, informational=["step_time_p99", "bounded_by_the_site"])]
        for value in VALUES
    ]  # fmt: skip
    site(nights)
    status, patch, said = learn(capsys)
    assert (status, said) == (0, "1 informational metrics left out, because a reference would make them fail\n")
    assert "latency_8B" in patch and "bounded_by_the_site" in patch and "step_time_p99" not in patch


def test_a_check_with_informational_metrics_only_needs_no_reference(site, capsys):
    figure = {"embedded:cpu:nodes": [4, 0, None, None, "", "pass"]}
    only = {"check_class": "Stranger", "name": "Stranger", "perfvalues": figure, "informational": ["nodes"]}
    site([[latency(value=value), latency(**only)] for value in VALUES])
    assert learn(capsys)[2] == ""


@pytest.mark.parametrize(
    "reference, days, said",
    [
        ("[10, null, 0.05, us]", 1, None),
        ("[10, null, 0.05, us]", 300, "stale: OsuLatency.two_nodes.latency_8B: of "),
        ("[500, null, 0, us]", 1, "too loose: OsuLatency.two_nodes.latency_8B: 500 us"),
        ("[10, null, 0.001, us]", 1, "too tight: OsuLatency.two_nodes.latency_8B: 10.01 us"),
        ("[10, -0.5, null, us]", 1, "too loose: OsuLatency.two_nodes.latency_8B: 5 us"),
    ],
)
def test_check(site, capsys, reference, days, said):
    site([[latency(value=value)] for value in VALUES], days, REFERENCES.replace("[500, null, 0, us]", reference))
    status, output, _ = learn(capsys, "--check")
    assert status == (1 if said else 0)
    assert said is None or output.startswith(said)


def test_check_says_that_the_level_changed(site, capsys):
    site([[latency(value=value * (1 if night < 15 else 1.3))] for night, value in enumerate(VALUES)])
    assert "the measured level has changed (step)" in learn(capsys, "--check")[1]


def test_an_outlier_does_not_widen_what_the_check_takes_for_noise(site, capsys):
    values = [*VALUES[:10], 5.0, *VALUES[10:]]
    site([[latency(value=value)] for value in values], text=REFERENCES.replace("[500, null, 0,", "[10, -0.5, null,"))
    assert learn(capsys, "--check")[1].startswith("too loose: OsuLatency.two_nodes.latency_8B: 5 us")


def test_check_of_too_little_is_no_pass(site, capsys):
    site([[latency(value=10.0)]])
    status, output, _ = learn(capsys, "--check")
    assert status == 2
    assert output.splitlines() == [
        "not compared with samples: OsuLatency.two_nodes.latency_8B: 1 values, at least 20 needed",
        "not compared with samples: OsuLatency.two_nodes.latency_1MiB: never measured",
        "not compared with samples: OsuOther.two_nodes.latency_8B: never measured",
        "not compared with samples: OsuOther.two_nodes.latency_1MiB: never measured",
        "0 references compared with samples, 4 not; 0 of unknown age; 0 do not fit",
    ]


def test_the_age_of_every_reference_is_checked(site, capsys):
    """Whether it was measured or not."""
    site([[latency(value=value)] for value in VALUES[:10]], days=2000)
    status, output, _ = learn(capsys, "--check")
    assert (status, output.count("stale: ")) == (1, 4)
    assert "stale: OsuOther.two_nodes.latency_1MiB: of " in output
    assert output.endswith("4 do not fit\n")


def test_without_any_history_the_age_is_checked_all_the_same(site, capsys):
    site([[latency()]], days=2000)
    shutil.rmtree(history_folder("here"))
    status, output, problem = learn(capsys, "--check")
    assert (status, output.count("stale: ")) == (1, 4)
    assert "only the age of references is checked" in problem


def test_a_reference_without_a_date_or_bound_is_named(site, capsys):
    text = REFERENCES.replace('match: "*"', 'match: "OsuOther*"').replace("[500, null, 0, us]", "[500, null, null, us]")
    site([[latency(value=value)] for value in VALUES], text=text)
    status, output, _ = learn(capsys, "--check", "--metric", "*.latency_8B")
    assert (status, output.splitlines()) == (
        2,
        [
            "of unknown age: OsuLatency.two_nodes.latency_8B: no entry of $sources has a date for it",
            "not compared with samples: OsuLatency.two_nodes.latency_8B: the reference has no bound",
            "not compared with samples: OsuOther.two_nodes.latency_8B: the reference has no bound",
            "0 references compared with samples, 2 not; 1 of unknown age; 0 do not fit",
        ],
    )


def test_broken_references_are_named(site, capsys):
    site([[latency()]], text="OsuLatency: [")
    status, _, problem = learn(capsys)
    assert status == 2
    assert "network.yaml" in problem
