"""`emt import` writes valid cases, and names refused input with its line."""

from __future__ import annotations

import json
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
    told = emt("import", "matpower", source, "-o", case, "--lines", lines, "--generators", generators).stdout
    assert "lines by travelling waves" in told
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
    source.write_text(NINE.matpower().replace("0.0625", "-0.0625"))
    refused = emt("import", "matpower", source, "-o", tmp_path / "case.json", ok=False)
    assert refused.returncode == 1
    assert f"{source}, line 22: [matpower] a branch needs a positive reactance" in refused.stderr
    missing = emt("import", "matpower", tmp_path / "no.m", "-o", tmp_path / "case.json", ok=False)
    assert missing.returncode == 1 and "cannot read" in missing.stderr
    assert not (tmp_path / "case.json").exists()
