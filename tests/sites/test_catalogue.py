"""What ReFrame says of all checks: the README's catalogue is made from it, and Spack builds the programs they run."""

import pathlib

import pytest

from reframe_checks.base import catalogue
from reframe_checks.base.census import declared_checks
from spack_envs.installer import table

README = pathlib.Path(__file__).resolve().parents[2] / "README.md"


def test_readme_is_up_to_date(cases):
    assert {case["@class"] for case in cases} == set(declared_checks())
    text = README.read_text(encoding="utf-8")
    assert catalogue.with_table(text, catalogue.as_markdown(catalogue.rows(cases))) == text, "run `make catalogue`"


def test_every_osu_program_of_a_check_is_promised_by_the_environments_for_it(cases):
    needed = {}
    for case in cases:
        names = {case.get("benchmark"), case["executable"], *case["programs"]}
        needed.setdefault(frozenset(case["needs_environ"]), set()).update(
            name for name in names if name and name.startswith("osu_")
        )
    needed = {needs: programs for needs, programs in needed.items() if programs}
    # OSU builds the persistent collectives only on an MPI of version 4: no environment promises them.
    assert needed.keys() == {
        frozenset(needs) for needs in (["osu"], ["osu-suite"], ["osu-suite", "osu-persistent"], ["osu-cuda"])
    }
    for environment in map(table.read, table.names()):
        for needs, programs in needed.items():
            if needs <= set(environment.features):
                assert programs <= set(environment.programs), environment.name


def test_cases_of_a_class_share_a_row():
    common = {
        "@class": "A", "family": "f/a", "descr": "d", "needs_partition": ["p"], "needs_environ": ["x|y"],
        "measured_s": 0, "estimated_s": 90,
    }  # fmt: skip
    table = catalogue.rows(
        [{**common, "metric_units": {"m": "us"}}, {**common, "metric_units": {"n": ""}, "needs_partition": ["q"]}]
    )
    assert table == [("`A`", "d", "`m` us, `n`", "`p`, `q`", "`x|y`", "≈ 90 s")]
    assert r"`x\|y`" in catalogue.as_markdown(table)


def test_every_check_says_what_a_case_takes(cases):
    said = {case["@class"]: (case["measured_s"], case["estimated_s"]) for case in cases}
    assert not [name for name, both in said.items() if sorted(value > 0 for value in both) != [False, True]]


@pytest.mark.parametrize("text", ["", catalogue.BEGIN + "\n", catalogue.END])
def test_missing_marker_is_an_error(text):
    with pytest.raises(ValueError, match="expected the lines"):
        catalogue.with_table(text, "")
