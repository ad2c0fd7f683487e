"""The worked example of ``docs/checks.md``, "Adding a parser", as it stands there."""

import pathlib
import re
import sys
from types import ModuleType

import pytest

from tests.unit.parsers.cases import Case
from tests.unit.parsers.misread import misread
from tests.unit.parsers.mutation import mutations

DOCUMENT = pathlib.Path(__file__).parents[3] / "docs/checks.md"


@pytest.fixture
def example(monkeypatch):
    """The sample, the parser as a module, and its case."""
    section = DOCUMENT.read_text(encoding="utf-8").partition("\n## Adding a parser\n")[2].partition("\n## ")[0]
    (sample,) = re.findall(r"```text\n(.*?)```", section, re.DOTALL)
    parser, case = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    hdparm = ModuleType("documented_hdparm")
    # Dataclasses look up their module.
    monkeypatch.setitem(sys.modules, hdparm.__name__, hdparm)
    exec(compile(parser, str(DOCUMENT), "exec"), vars(hdparm))
    (case,) = eval(f"{{{case}}}", {"Case": Case, "hdparm": hdparm}).values()
    return sample, hdparm, case


def test_the_sample_is_read(example):
    sample, hdparm, _ = example
    assert hdparm.parse(sample) == hdparm.HdparmResult("/dev/nvme0n1", pytest.approx(1622.084, abs=1e-3))


def test_no_mutation_of_the_sample_is_misread(example):
    sample, _, case = example
    complaints, changed = misread(case, sample, mutations(sample))
    assert (complaints, changed) == ([], set(case.alone))
