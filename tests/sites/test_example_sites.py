"""Rules for every example site: everything that it offers has a script, and its files fit the suite."""

import re

import pytest
import yaml

from kappa.core.sites.load import Site
from kappa.core.sites.references import read_sources, source_of
from kappa.core.vocabulary.modes import MODES
from tests.sites.dry_run import EXAMPLES, SITES, settings

# So that an operator can read it.
MOST_LINES = 32


def test_every_case_has_a_script(site):
    ran = re.search(r"Ran (\d+)/(\d+) test case\(s\) .*\(0 failure", site.output)
    assert ran[1] == ran[2] == str(len(site.scripts))
    assert all(script.text.startswith("#!/bin/bash") for script in site.scripts)
    assert "WARNING" not in site.output


@pytest.mark.parametrize("name", ["embedded", *EXAMPLES])
def test_a_job_script_is_short_and_what_it_sources_is_beside_it(request, name):
    for script in request.getfixturevalue(name.replace("-", "_")).scripts:
        lines = script.text.splitlines()
        assert len(lines) <= MOST_LINES, script.path
        for file in re.findall(r"^\. \./(\S+)|\bbash \./(\S+)", script.text, re.MULTILINE):
            assert (script.path.parent / "".join(file)).is_file(), script.path


def test_check_without_a_script_needs_what_the_site_says_it_lacks(site, cases):
    configuration = settings(site.name)
    described = [*configuration["systems"][0]["partitions"], *configuration["environments"]]
    offered = {feature for one in described for feature in one["features"]}
    expected = Site(SITES / site.name).expected
    reasons = {*expected.not_provided, *expected.reasons}
    scripted = {script.check for script in site.scripts}
    for case in cases:
        if case["@class"] in scripted:
            continue
        missing = [
            need for need in [*case["case_features"], *case["needs_environ"]] if not offered & set(need.split("|"))
        ]
        assert missing, f"{case['@class']}: nothing is missing, but there is no script"
        assert set(missing) & reasons, f"{case['@class']}: expected.yaml does not say why not: {missing}"


def test_what_is_not_provided_is_not_offered(site):
    configuration = settings(site.name)
    described = [*configuration["systems"][0]["partitions"], *configuration["environments"]]
    assert not {feature for one in described for feature in one["features"]} & set(
        Site(SITES / site.name).expected.not_provided
    )


def selected(case, mode):
    """Whether the options of the mode take the case."""
    asked = dict(option.split("=", 1) for option in MODES[mode].reframe_options)
    name = case["display_name"].replace(" ", "")
    return (
        asked.get("--tag", case["tags"][0]) in case["tags"]
        and bool(re.search(asked.get("--name", ""), name))
        and not re.search(asked.get("--exclude", "(?!)"), name)
    )


@pytest.mark.parametrize("mode", MODES)
def test_what_a_mode_has_to_run_is_what_reframe_selects(site, cases, mode):
    """Return the cases with a script of ReFrame."""
    taken = {case["display_name"]: case["family"] for case in cases if selected(case, mode)}
    derived = Site(SITES / site.name).modes[mode]
    places = {(taken[script.name], script.partition) for script in site.scripts if script.name in taken}
    assert {(family, partition) for family, partitions in derived.items() for partition in partitions} == places


def test_references_name_metrics_and_have_sources(site, cases):
    units = {}
    for case in cases:
        units.setdefault(case["@class"], {}).update(case["metric_units"])
    files = list((SITES / site.name / "references").glob("*.yaml"))
    assert {path.stem for path in files} == {case["family"].split("/")[0] for case in cases}
    for path in files:
        sources = read_sources(path)
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        for check, entry in document.items():
            for where, (_, _, _, unit) in references([check], entry if check != "$sources" else {}):
                assert units[check][where[-1]] == unit, where
                assert source_of(sources, ".".join(where)), where


def references(where, entry):
    """Each reference below ``entry``: where it stands, and its value, lower and upper bound, and unit."""
    for key, value in entry.items():
        if key == "$index":
            continue
        if isinstance(value, dict):
            yield from references([*where, key], value)
        else:
            yield [*where, key], value


def test_first_run_installs_what_is_missing_and_no_other_does(site):
    assert len(site.find("SpackInstall")) == 1
    installs = [script for script in site.scripts if "spack_envs/install" in script.text]
    assert installs == site.find("SpackInstall")


def test_mpi_goes_over_ucx_and_slurms_pmix(site):
    for script in site.find("OsuLatency"):
        assert script.exports["OMPI_MCA_pml"] == "ucx"
        assert script.exports["SLURM_MPI_TYPE"] == "pmix"
