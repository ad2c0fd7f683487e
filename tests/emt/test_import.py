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
