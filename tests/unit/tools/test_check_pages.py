"""The page of a check says all that the catalogue has of it, and fits on a screen."""

import pytest

from kappa.core.vocabulary import check_pages
from kappa.core.vocabulary.checks import CataloguedCase, CataloguedCheck, catalogue
from kappa.core.vocabulary.tunables import Tunable

CHECK = CataloguedCheck(
    family="network/made-up", descr="made up", modes=["nightly", "full"], needs_environ=["emt|osu"],
    metrics={"latency": "us", "rate": "1/s", "share": ""}, informational=["share"],
    tunables={"sizes": Tunable("whole numbers", "B", "of messages"), "dry": Tunable("yes or no", "", "without water")},
    defaults={"sizes": [1, 2], "dry": False},
    cases=[
        CataloguedCase({"scale": "one_node"}, ["links", "scale_one_node"]),
        CataloguedCase({"scale": "two_nodes"}, ["links", "scale_two_nodes"]),
    ],
    failure_means="It is slow.", hint="look", runs="it sends", programs=["osu_bw"], estimated_s=90, pages=["hangs.md"],
)  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [
        "made up.",
        "it sends. It runs `osu_bw`.",
        "It is slow.",
        "Hint: look",
        "- `latency`, us, lower is better",
        "- `rate`, 1/s, higher is better",
        "- `share`, no unit, recorded only",
        "- time of a case: ≈ 90 s, an estimate",
        "- `scale`: one_node, two_nodes",
        "- of a partition, for some cases: `scale_one_node`, `scale_two_nodes`",
        "- `sizes`, whole numbers, B, default 1, 2: of messages",
        "- `dry`, yes or no, default no: without water",
    ],
)
def test_a_page_has_the_line(line):
    assert line in check_pages.text("MadeUp", CHECK, 120).splitlines()


def test_a_page_names_pages_of_docs_without_links():
    told = check_pages.text("MadeUp", CHECK, 120)
    assert "](" not in told and "docs/hangs.md" in told


@pytest.mark.parametrize("name", sorted(catalogue()))
def test_a_page_is_short(name):
    assert len(check_pages.text(name, catalogue()[name], 120).splitlines()) <= 60


def test_the_table_has_a_row_for_each_check_without_its_layouts():
    row = r"| made up | `latency` us, `rate` 1/s, `share` | `links` | `emt\|osu` | ≈ 90 s |"
    assert check_pages.table({"MadeUp": CHECK}).endswith(f"\n| `MadeUp` {row}")
