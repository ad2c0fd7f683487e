"""Clusters' records in several versions of Slurm, each beside the site that was worked out for it by hand.

The common part of all partitions (environments, features of measurements) and texts are not compared.
"""

import pathlib

import pytest
import yaml

from kappa.app.survey.reasons import reasons
from kappa.core.vocabulary.modes import MODES
from kappa.core.vocabulary.reservations import RESERVATIONS
from tests.unit.survey.clusters import DATA, files_of, scales_left_out, site_in, surveyed
from tests.unit.survey.national_centre import PARTITIONS_TEXT, nodes_text
from tests.unit.survey.test_field_cases import Untold

CLUSTERS = sorted(path.parent.name for path in DATA.glob("clusters/*/expected.yaml"))
MEASURED = {"network", "collectives", "links", "cores", "compute", "patterns", "mpi_behaviour"}
#: Folder of a cluster's records, if they do not lie beside its expectations.
ELSEWHERE = {"embedded": "embedded-", "three-hundred": "three-hundred/", "several-kinds": "several-kinds/"}


def records_of(name):
    """Return records of nodes and partitions, and of switches if there are some."""
    if name == "national-centre":
        return [nodes_text(), PARTITIONS_TEXT]
    place = f"{DATA}/{ELSEWHERE.get(name, f'clusters/{name}/')}"
    files = [pathlib.Path(f"{place}{kind}.txt") for kind in ("node", "partition", "topology")]
    return [path.read_text() for path in files if path.exists()]


def expected_of(name):
    return yaml.safe_load((DATA / f"clusters/{name}/expected.yaml").read_text())


def survey_of(name):
    cluster, reservations = Untold(*records_of(name)), DATA / f"clusters/{name}/reservation.txt"
    if reservations.exists():
        cluster.more = {RESERVATIONS: reservations.read_text()}
    return surveyed(cluster, access=expected_of(name).get("access", []))


@pytest.mark.parametrize("name", CLUSTERS)
def test_the_site_is_as_worked_out_by_hand(name):
    expected, found = expected_of(name), survey_of(name)
    files = files_of(found)
    made = yaml.safe_load(files["site.yaml"])["partitions"]
    for one in made.values():
        assert not one["features"] or set(one["features"]) > MEASURED
        one["features"] = sorted({*one["features"]} - MEASURED)
        del one["descr"], one["environments"]
    for one in expected["partitions"].values():
        one["features"] = sorted(one["features"])
    assert made == expected["partitions"]
    assert list(made) == list(expected["partitions"]), "the largest kinds come first"
    assert found.unreachable == expected["unreachable"]
    out = {title: part.out_of_service for title, part in found.parts.items() if part.out_of_service}
    assert out == expected.get("out_of_service", {})
    assert {title: sorted(one) for title, one in scales_left_out(files).items()} == expected.get("left_out", {})


@pytest.mark.parametrize("name", CLUSTERS)
def test_a_new_site_lacks_a_reason_only_for_what_a_person_has_to_look_for(name, tmp_path):
    found = survey_of(name)
    site, asked = site_in(tmp_path, found), {*reasons(found).asked}
    assert asked >= {"osu", "stream", "fio"}
    lacking = [one for mode in MODES for one in site.unexplained(mode)]
    for one in lacking:
        part = found.parts[one.partition]
        told = asked | {"storage_shared"} | ({"nvidia"} if part.gpus_by_slurm else set())
        assert part.options is None or told.intersection(one.features), one
    assert any("storage_shared" in one.features for one in lacking), "no node was probed"
