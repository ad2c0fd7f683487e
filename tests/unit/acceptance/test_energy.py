"""Clauses about energy, with numbers worked out by hand: J per run from Slurm, RAPL that wraps, and Redfish."""

import datetime
import json

import pytest
import yaml

from kappa.core.ground.errors import InputError
from kappa.core.sites.load import Site
from reports.acceptance.contract import load_contract
from reports.acceptance.dossier import verify, write_dossier
from reports.acceptance.judge import judge
from reports.acceptance.kinds.clause import ClauseOutcome
from reports.acceptance.kinds.energy import JobEnergy
from tests.unit.acceptance.conftest import Filled, clause, contract
from tests.unit.reports.samples import REPOSITORY, latency

# Each job ends at second 1000 of this day.
DAY = datetime.datetime(2026, 12, 1, tzinfo=datetime.UTC)
LEVEL = {"granularity": 2, "fraction": 1, "subsystems": 3, "meter": 2}
RANGE_UJ = 262_143_328_850
RAPL = {"source": "rapl", "level": None, "gap_s": 3600}
ALL = range(880, 1021, 20)


def demand(source="slurm", at_most=50_000, level=LEVEL, unit="J", metric="run", changes=(), **energy):
    block = {"source": source, **energy, **({"level": level} if level else {})}
    selector = {"check": "OsuLatency", "partition": "cpu", "metric": metric}
    threshold = {"value": at_most, "unit": unit}
    return {**clause(id="E1", energy=block, selector=selector, threshold=threshold, repeats=1), **dict(changes)}


def job(energy_j=48_000, seconds=100, by="acct_gather_energy/ipmi", **changes):
    ended = DAY.timestamp() + 1000
    return latency(energy_j=energy_j, energy_by=by, job_s=seconds, job_completion_time_unix=ended, **changes)


def at(second, meter, nodes, **answer):
    moment = (DAY + datetime.timedelta(seconds=second)).isoformat()
    return json.dumps({"time": moment, "meter": meter, "nodes": nodes, **answer}) + "\n"


def sensor(second, watts=None, kwh=None, meter="pdu1", nodes="node[1-2]"):
    answer = {"PowerWatts": {"Reading": watts, "Name": "P"}, "EnergykWh": {"Reading": kwh}, "Id": "PDU"}
    return at(second, meter, nodes, redfish=answer)


def bmc(second, watts, node):
    return at(second, f"bmc-{node}", node, redfish={"PowerControl": [{"PowerConsumedWatts": watts, "MemberId": "0"}]})


def rapl(second, watts, node, begin_uj=0):
    """One package that takes ``watts``, and two zones that count for nothing."""
    zones = {"intel-rapl:0": "package-0", "intel-rapl:0:0": "core", "intel-rapl:1": "psys"}
    count = (begin_uj + int(second * watts * 1e6)) % RANGE_UJ
    files = {zone: {"name": name, "energy_uj": count, "max_energy_range_uj": RANGE_UJ} for zone, name in zones.items()}
    return at(second, node, node, rapl=files)


@pytest.fixture
def filled(tmp_path):
    """``filled(clause, …, cases=…, readings=…)`` is a campaign."""

    def make(*clauses, cases=(), readings=()):
        campaign = Filled(tmp_path / "campaign").demand(*clauses)
        for repeat, case in enumerate(cases or [job()], start=1):
            campaign.add(case, repeat)
        if readings:
            (campaign.folder / "energy").mkdir()
            (campaign.folder / "energy/site.jsonl").write_text("".join(readings))
        return campaign

    return make


@pytest.fixture
def judged(filled):
    return lambda demanded, *cases, readings=(): judge(filled(demanded, cases=cases, readings=readings)).clauses[0]


@pytest.mark.parametrize(("at_most", "outcome"), [(49_000, ClauseOutcome.MET), (46_999, ClauseOutcome.NOT_MET)])
def test_energy_of_runs_by_slurm_meets_its_threshold(judged, at_most, outcome):
    verdict = judged(demand(at_most=at_most, changes={"repeats": 3}), job(47_000), job(49_000), job(48_500))
    assert (verdict.outcome, verdict.value, verdict.doubts) == (outcome, 48_500, ())
    energy = JobEnergy(**verdict.samples[0].figures["energy"])
    assert energy == JobEnergy(47_000, 47_000, 47_000, 100, "acct_gather_energy/ipmi")


@pytest.mark.parametrize(("results", "value"), [(960, 50), (0, None)])
def test_energy_for_each_result(judged, results, value):
    count = {"perfvalues": {"embedded:cpu:solved": [results, 0, None, None, "works", "pass"]}}
    assert judged(demand(unit="J/works", metric="solved"), job(**count)).value == value


# 900 s of 300 W are 270 kJ on each node: more than the counter holds, so it wraps once or twice. The last readings
# before start and after end are at 85 s and 1015 s, those within at 115 s and 985 s.
BEGINS = {"node1": 0, "node2": RANGE_UJ - 10**9}
WRAPS = [rapl(second, 300, node, begin) for second in range(85, 1030, 30) for node, begin in BEGINS.items()]
# 262143 J at 300 W are 873.8 s, at 290 W 903.9 s.
ENDS_ONLY = [rapl(second, 100, node) for second in (100, 1000) for node in ("node1", "node2")]
# 1 Wh each 10 s is 360 W; lines may have any order. A step of 0.0001 kWh is 360 J.
TIMES = [(meter, second) for meter in ("b", "a") for second in range(1010, 0, -10)]
FEEDS = [sensor(second, 999, round(7.0001 + second / 10_000, 4), meter) for meter, second in TIMES]


@pytest.mark.parametrize(
    ("source", "seconds", "readings", "joules", "bounds"),
    [
        ({**RAPL, "gap_s": 60}, 900, WRAPS, 540_000, (2 * 870 * 300, 2 * 930 * 300)),
        ({**RAPL, "package_w": 290}, 900, ENDS_ONLY, 180_000, None),
        ({}, 900, FEEDS, 2 * 324_000, (2 * (324_000 - 360), 2 * (324_000 + 360))),
        # 100 W at 890 s to 320 W at 1000 s: 120 W when the job begins, so (120 + 320) / 2 x 100 s.
        ({}, 100, [sensor(890, 100), sensor(950, 220), sensor(1000, 320)], 22_000, None),
        # Coarse kilowatt-hours give way to power.
        ({}, 100, [sensor(second, 360, 56438) for second in ALL], 36_000, None),
        ({}, 100, [bmc(second, 200, node) for second in (900, 950, 1000) for node in ("node1", "node2")], 40_000, None),
        # A line without an end is still being written.
        ({}, 100, [*(sensor(second, 200) for second in ALL), '{"time": "2026'], 20_000, None),
    ],
)
def test_energy_by_readings_and_its_bounds(judged, source, seconds, readings, joules, bounds):
    verdict = judged(demand(**{"source": "redfish", **source}), job(seconds=seconds), readings=readings)
    energy = JobEnergy(**verdict.samples[0].figures["energy"])
    assert (verdict.problems, verdict.value) == ((), energy.joules)
    expected = (joules, *(bounds or (joules, joules)))
    assert (energy.joules, energy.low_j, energy.high_j) == pytest.approx(expected, abs=0.01)


READINGS = {"source": "redfish"}
TWICE = [line for second in ALL for line in (bmc(second, 200, "node1"), sensor(second, 200))]


@pytest.mark.parametrize(
    ("source", "case", "readings", "message"),
    [
        ({}, {"energy_j": None}, [], "no energy of the job"),
        ({}, {"energy_j": 0}, [], "no energy of the job"),
        (READINGS, {"seconds": -1}, [], "did not record how long the job ran"),
        ({}, {"seconds": None}, [], "did not record how long the job ran"),
        ({}, {"by": "acct_gather_energy/rapl"}, [], "acct_gather_energy/rapl measured the energy: expected no level"),
        ({"level": None}, {}, [], "acct_gather_energy/ipmi measured the energy: expected a level in the contract"),
        ({}, {"by": ""}, [], "does not say which plug-in"),
        ({}, {"provenance": {"other_jobs": "71 72"}}, [], "not the job's own: 71 72"),
        ({}, {"result": "fail", "fail_phase": "sanity"}, [], "failed in phase sanity"),
        ({**RAPL, "package_w": 300}, {"seconds": 900}, ENDS_ONLY, "wraps in 14 min 34 s, so the energy is not known"),
        (READINGS, {}, [], "no readings of node[1-2]"),
        (READINGS, {}, [bmc(second, 200, "node1") for second in ALL], "no readings of node2"),
        (READINGS, {}, [sensor(second, 200, nodes="node[1-3]") for second in ALL], "pdu1 also measures node3"),
        (READINGS, {}, TWICE, "bmc-node1 and pdu1 both measure node1"),
        (READINGS, {}, [sensor(at, 200) for at in range(920, 1021, 20)], "pdu1: no reading before the job's start"),
        (READINGS, {}, [sensor(at, 200) for at in range(880, 1000, 20)], "pdu1: no reading after the job's end"),
        (READINGS, {}, [sensor(at, 200) for at in (900, 961, 1000)], "pdu1: no reading for 1 min 1 s during the job"),
        (READINGS, {}, [sensor(second, None) for second in ALL], "pdu1: no reading before the job's start"),
        (READINGS, {}, [sensor(second, 0) for second in ALL], "pdu1: its readings show no energy at all"),
        (READINGS, {}, [sensor(second, None, 56438) for second in ALL], "more than 1 % of 0 J"),
        (READINGS, {}, [sensor(second, None, 2000 - second) for second in ALL], "EnergykWh went back"),
        (READINGS, {}, [rapl(second, 200, "node1") for second in ALL], "no readings of node[1-2]"),
    ],
)
def test_energy_that_is_not_known_is_incomplete(judged, source, case, readings, message):
    verdict = judged(demand(**source), job(**case), readings=readings)
    assert (verdict.outcome, verdict.value) == (ClauseOutcome.INCOMPLETE, None)
    assert message in verdict.problems[0]


def test_readings_around_the_threshold_leave_it_open(judged):
    # 3.6 kW; the readings within the job cover 90 s of its 100 s, those around it 120 s.
    lines = [sensor(second, None, round(0.00001 + second / 1000, 5)) for second in range(880, 1030, 30)]
    verdict = judged(demand("redfish", 370_000), readings=lines)
    assert verdict.value == pytest.approx(360_000)
    assert verdict.doubts == ("the readings around 1 job leave the threshold open",)


def test_a_link_is_refused(filled, tmp_path):
    campaign = filled(demand("redfish"))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/pdu.jsonl").write_text("")
    (campaign.folder / "energy").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match=r"pdu\.jsonl: expected a file in energy/, found a link"):
        judge(campaign)


GOOD_LINE = sensor(0, 200, 1)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{\n", "truncated"),
        ("[]\n", "Expected `object`"),
        (GOOD_LINE.replace("+00:00", ""), "$.time"),
        (GOOD_LINE.replace("meter", "metre"), "metre"),
        (GOOD_LINE.replace("node[1-2]", "node[2-"), "expected a list of 1 to 100,000 nodes"),
        (GOOD_LINE.replace("200", '"much"'), "$.redfish.PowerWatts.Reading"),
        (GOOD_LINE.replace("200", "-200"), "at least 0 - at `$.redfish.PowerWatts`"),
        (GOOD_LINE.replace("200", '"NaN"'), "at least 0 - at `$.redfish.PowerWatts`"),
        (GOOD_LINE.replace("200", "0e999"), "at least 0 - at `$.redfish.PowerWatts`"),
        (at(0, "m", "node1"), "expected either redfish or rapl"),
        (at(0, "m", "node1", redfish={"error": {}}), "expected either one PowerControl, or"),
        (at(0, "m", "node1", redfish={"PowerControl": [{}, {}]}), "expected either one PowerControl, or"),
        (rapl(0, 1, "node[1-2]"), "rapl: expected one node"),
        (rapl(0, 1, "node1").replace("package-0", "dram"), "and a zone with the name package-0"),
        (rapl(0, 1, "node1").replace("energy_uj", "energy"), "energy"),
        (sensor(-5, 1), "time: expected each time of a meter once"),
        (sensor(0, 1, nodes="node1"), "expected those of its first line"),
    ],
)
def test_a_line_that_is_no_reading_is_named(judged, line, message):
    with pytest.raises(InputError, match=r"site\.jsonl: line 2: ") as error:
        judged(demand("redfish"), readings=[sensor(-5, 200), line])
    assert message in str(error.value)


def test_dossier_has_readings_and_level(filled, tmp_path):
    readings = [sensor(second, 100, meter=meter) for meter in ("b", "a") for second in ALL]
    campaign = filled(demand("redfish"), clause(id="B2", repeats=1), readings=readings)
    write_dossier(campaign, tmp_path / "d", pdf=False, how_signed=None)
    page = (tmp_path / "d/dossier.html").read_text()
    assert "level 1, the lowest of: granularity 2, fraction 1, subsystems 3, meter 2" in page
    assert '<p class="warning">' not in page
    energy = json.loads((tmp_path / "d/verdict.json").read_text())["clauses"][0]["samples"][0]["energy"]
    assert (energy["joules"], energy["seconds"], energy["source"]) == (20_000, 100, "redfish: a, b")
    assert verify(tmp_path / "d").problems == []
    altered = tmp_path / "d/energy/site.jsonl"
    altered.write_text(altered.read_text().replace("100", "101"))
    assert any("energy/site.jsonl" in problem for problem in verify(tmp_path / "d").problems)


def test_processors_alone_have_no_level_and_a_warning(filled, tmp_path):
    campaign = filled(demand(level=None), cases=[job(by="acct_gather_energy/rapl")])
    [verdict] = write_dossier(campaign, tmp_path / "d", pdf=False, how_signed=None).clauses
    assert (verdict.outcome, verdict.doubts) == (ClauseOutcome.MET, ("no level: processors only",))
    assert '<p class="warning">no level: processors only</p>' in (tmp_path / "d/dossier.html").read_text()


OF_REPEATS = "expected energy with comparison at_most, and a statistic over the repeats"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, ""),
        ({"source": "ipmi"}, "energy.source"),
        ({"source": "rapl"}, "RAPL measures processors only: expected no level"),
        ({"source": "redfish", "level": None}, "expected the key level"),
        ({"level": {**LEVEL, "meter": 4}}, "energy.level.meter: expected a level of 1 to 3, found 4"),
        ({"level": {"meter": 1}}, "'granularity' is a required property"),
        ({"gap_s": 0}, "energy.gap_s: expected seconds above 0"),
        ({"unit": "kJ"}, "threshold.unit: expected 'J' for each run, found 'kJ'"),
        ({"unit": "J", "metric": "latency_8B"}, "expected 'J/UNIT'"),
        ({"unit": "J/us", "metric": "latency_8B"}, "is no time and no rate"),
        ({"unit": "J/Gflop/s", "metric": "rate"}, "is no time and no rate"),
        ({"changes": {"comparison": "at_least"}}, OF_REPEATS),
        ({"changes": {"statistic": {"every_node": 2}}}, OF_REPEATS),
        # By the catalogue of the site's checks.
        ({"metric": "solved", "unit": "J/works"}, "unknown metric 'solved'"),
        ({"metric": "latency_8B", "unit": "J/works"}, "unit of latency_8B"),
    ],
)
def test_a_bad_clause_names_its_key(tmp_path, changes, message):
    path = tmp_path / "c.yaml"
    path.write_text(yaml.safe_dump(contract(demand(**changes))))
    site = Site(REPOSITORY / "site_configs/embedded").description
    if not message:
        assert load_contract(path, site).clauses[0].required == "≤ 50\N{NARROW NO-BREAK SPACE}000 J"
        return
    with pytest.raises(InputError, match=r"c\.yaml: line \d+: ") as error:
        load_contract(path, site)
    assert message in str(error.value)
