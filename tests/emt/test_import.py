"""`emt import` writes valid cases, and names refused input with its line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest

from .conftest import Emt
from .ieee_systems import NINE, THIRTY_NINE, System


@pytest.mark.parametrize("system", [NINE, THIRTY_NINE], ids=lambda s: s.name)
@pytest.mark.parametrize("lines", ["waves", "pi"])
@pytest.mark.parametrize("generators", ["machine", "emf"])
def test_a_case_is_made_that_runs(emt: Emt, tmp_path: Path, system: System, lines: str, generators: str) -> None:
    source, case = tmp_path / "system.m", tmp_path / "case.json"
    source.write_text(system.matpower())
    told = emt("import", "matpower", source, "-o", case, "--lines", lines, "--generators", generators, "--solve").stdout
    assert "lines by travelling waves" in told and "60 Hz is assumed" in told
    errors = dict(re.findall(r"voltages after the start, lines as (\w+): at most (\S+) per unit off", told))
    assert float(errors["pi"]) < 1e-8 and float(errors["waves"]) < 1e-2
    jsonschema.validate(json.loads(case.read_text()), json.loads(emt("schema").stdout))
    census = json.loads(emt("check", "--json", case).stdout)["census"]
    assert census["nodes"] == 3 * len(system.buses)
    assert census["machines"] == (len(system.machines) if generators == "machine" else 0)
    assert (census["lines"] > 0) == (lines == "waves")
    result = emt.run(case, tmp_path, "--steps", "200", "--no-replay")
    assert result["simplified"] == {}
    assert (result["tasks"] > 1) == (lines == "waves")  # travelling waves divide it


@pytest.mark.parametrize("system", [NINE, THIRTY_NINE], ids=lambda s: s.name)
@pytest.mark.parametrize("version", [33, 34])
def test_a_network_is_the_same_case_from_either_program(emt: Emt, tmp_path: Path, system: System, version: int) -> None:
    def imported(source: Path) -> list[tuple[str, dict[str, float]]]:
        told = emt("import", source, "-o", tmp_path / "case.json", "--solve").stdout
        assert ("60 Hz is assumed" in told) == (source.suffix == ".m")  # PSS/E's cases state it
        elements = json.loads((tmp_path / "case.json").read_text())["elements"]
        places = ("type", "bus", "buses", "from", "to", "primary", "secondary")
        return sorted(
            (str([e.get(key) for key in places]), {k: v for k, v in e.items() if isinstance(v, int | float)})
            for e in elements
        )

    (tmp_path / "system.m").write_text(system.matpower())
    (tmp_path / "system.raw").write_text(system.psse(version))
    matpower, psse = imported(tmp_path / "system.m"), imported(tmp_path / "system.raw")
    assert [place for place, _ in psse] == [place for place, _ in matpower]
    for (_, a), (_, b) in zip(psse, matpower, strict=True):
        assert a == pytest.approx(b, rel=1e-9, abs=1e-9)


def test_a_refused_psse_case_leaves_no_file(emt: Emt, tmp_path: Path) -> None:
    source = tmp_path / "system.raw"
    source.write_text(NINE.psse(33).replace("8,1,1,1,1,100", "18,1,1,1,1,100"))
    refused = emt("import", source, "-o", tmp_path / "case.json", ok=False)
    assert refused.returncode == 1
    assert f"{source}, line 16: [psse] there is no bus 18: expected one of the bus data" in refused.stderr
    assert not list(tmp_path.glob("case.json*"))


def test_what_cannot_be_read_is_named(emt: Emt, tmp_path: Path) -> None:
    source = tmp_path / "system.m"
    source.write_text(NINE.matpower().replace("0.0625", "0"))
    refused = emt("import", "matpower", source, "-o", tmp_path / "case.json", ok=False)
    assert refused.returncode == 1
    assert f"{source}, line 22: [matpower] a branch without impedance" in refused.stderr
    missing = emt("import", "matpower", tmp_path / "no.m", "-o", tmp_path / "case.json", ok=False)
    assert missing.returncode == 1 and "cannot read" in missing.stderr
    source.write_text(NINE.matpower())
    unsolved = emt("import", "matpower", source, "-o", tmp_path / "case.json", ok=False)
    assert unsolved.returncode == 1 and "the case is not solved: " in unsolved.stderr
    assert not list(tmp_path.glob("case.json*"))


def test_the_solution_keeps_reactive_limits_unless_told_otherwise(emt: Emt, tmp_path: Path) -> None:
    source, case = tmp_path / "system.m", tmp_path / "case.json"
    source.write_text(NINE.matpower().replace("2 163 0 999 -999", "2 163 0 2 -999"))
    kept = emt("import", "matpower", source, "-o", case, "--solve").stdout
    assert "machines of 1 buses are at their reactive limits: 2" in kept
    ignored = emt("import", "matpower", source, "-o", case, "--solve", "--reactive-limits", "ignore").stdout
    assert "at their reactive limits" not in ignored


def test_the_frequency_is_no_assumption_where_it_is_given(emt: Emt, tmp_path: Path) -> None:
    source, case = tmp_path / "system.m", tmp_path / "case.json"
    source.write_text(NINE.matpower())
    told = emt("import", "matpower", source, "-o", case, "--solve", "--frequency", "50").stdout
    assert "assumed" not in told and json.loads(case.read_text())["frequency"] == 50
