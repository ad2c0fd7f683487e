"""The page in a browser: scripts run, plots are drawn, nothing hostile acts, nothing overflows."""

import json
import re

import pytest

from reports.show.run_page import render
from tests.integration.browser import CHROMIUM, browser, without_policy
from tests.unit.reports.samples import case, judged, latency, recorded, report

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: install the package chromium")

# Filters, sorts, asks for paper, and leaves what it saw as text on the root element.
PROBE = """
<script>
const seen = {};
const open = () => [...document.querySelectorAll(".group")].filter((group) => group.open).length;
const shown = () => [...document.querySelectorAll(".results tbody tr")].filter((row) => row.checkVisibility());
const set = (id, value) => {
  const field = document.getElementById(id);
  field.value = value;
  field.dispatchEvent(new Event("input", { bubbles: true }));
};
const column = (index) => shown().map((row) => row.cells[index].textContent.trim());
const table = () => [...document.querySelectorAll(".results")].find((one) => one.checkVisibility());
const click = (index) => table().querySelectorAll("thead button")[index].click();

seen.folded = [open(), document.querySelectorAll(".group").length];
document.getElementById("unfold").click();
seen.all = shown().length;
document.getElementById("unfold").click();
set("filter-text", "osulatency 1mib");
seen.byText = column(1);
seen.openByText = open();
set("filter-text", "node3");
seen.byNode = [...new Set(column(10))];
set("filter-text", "node[2-3,7] latency_8B");
seen.byNodes = [...new Set(column(10))];
set("filter-text", "node");
seen.byPart = shown().length;
set("filter-text", "");
set("filter-state", "FAIL");
seen.byState = column(0);
set("filter-state", "");
set("filter-partition", "gpu");
seen.byPartition = [...new Set(column(3))];
seen.count = document.getElementById("filter-count").textContent;
set("filter-partition", "");
set("filter-text", "osulatency");
click(4);
seen.ascending = shown().map((row) => row.cells[4].dataset.key);
click(4);
seen.descending = shown().map((row) => row.cells[4].dataset.key);
seen.ariaSort = table().querySelectorAll("thead th")[4].getAttribute("aria-sort");
set("filter-text", "");
seen.foldedAgain = open();
dispatchEvent(new Event("beforeprint"));
seen.closedOnPaper = document.querySelectorAll("details:not([open]):not(.screen)").length;
dispatchEvent(new Event("afterprint"));
seen.openAfterwards = open();
seen.overflow = document.documentElement.scrollWidth - document.documentElement.clientWidth;
// Bokeh draws into nested shadow trees.
const strokes = (root) => [...root.querySelectorAll("*")].reduce(
  (sum, element) => sum + (element instanceof SVGElement) + (element.shadowRoot ? strokes(element.shadowRoot) : 0), 0);
setTimeout(() => {
  seen.drawn = [...document.querySelectorAll(".canvas")].map(strokes);
  document.documentElement.dataset.seen = JSON.stringify(seen);
}, 3000);
</script>
</body>"""
NODE_3 = re.compile(r"node3\b|node\[1-4\]|node\[3-4\]")


@pytest.fixture
def browse(tmp_path):
    return browser(tmp_path)


def campaign(tmp_path):
    slow = latency(value=900, name="Slow %placement=two_nodes", suspects=["node2"])
    return render(judged(report([*recorded("campaign")["runs"][0]["testcases"], slow]), tmp_path))


def complaints(log):
    """Return the page's own complaints on the console."""
    return [line for line in log.splitlines() if "CONSOLE" in line and "[bokeh" not in line]


def probe(browse, text, **options):
    """Return the probe's observations; the page's policy would rightly block it."""
    done = browse(without_policy(text).replace("</body>", PROBE), "--dump-dom", **options)
    found = re.search(r'<html[^>]* data-seen="([^"]*)"', done.stdout)
    assert found, done.stderr
    return json.loads(found[1].replace("&quot;", '"').replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">"))


def test_every_plot_is_drawn_under_the_pages_own_policy(browse, tmp_path):
    text = campaign(tmp_path)
    done = browse(text, "--dump-dom")
    places = text.count('class="canvas"')
    assert places >= 10
    assert f'data-plots="{places}"' in done.stdout
    assert re.search(r"(\d+) of \1 rows", done.stdout), "the filter counted its rows"
    assert complaints(done.stderr) == []


def test_filter_sort_and_paper(browse, tmp_path):
    seen = probe(browse, campaign(tmp_path))
    assert seen["folded"][0] == seen["foldedAgain"] == seen["openAfterwards"] == 1 < seen["folded"][1]
    assert seen["all"] > 90
    assert seen["byText"] == ["latency_1MiB"] * 4
    assert seen["openByText"] == 1
    assert all(NODE_3.search(nodes) for nodes in seen["byNode"])
    assert "node[1-4]" in seen["byNode"] and "node[1-2]" not in seen["byNode"]
    assert {"node[1-2]", "node[3-4]"} <= set(seen["byNodes"]) and "node1" not in seen["byNodes"]
    assert seen["byPart"] > 80
    assert seen["byState"] == ["✘ FAIL"]
    assert seen["byPartition"] == ["gpu"]
    assert re.fullmatch(rf"\d+ of {seen['all']} rows", seen["count"])
    for keys, reverse in ((seen["ascending"], False), (seen["descending"], True)):
        numbers = [float(key) for key in keys if key]
        assert numbers == sorted(numbers, reverse=reverse)
        assert "" not in keys[: len(numbers)], "what has no value comes last"
    assert seen["ariaSort"] == "descending"
    assert seen["closedOnPaper"] == 0
    assert min(seen["drawn"]) > 40, "lines, points and axes of every plot"


@pytest.mark.parametrize("width", [500, 1280])
def test_only_tables_scroll_sideways(width, browse, tmp_path):
    assert probe(browse, campaign(tmp_path), width=width)["overflow"] <= 0


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>document.documentElement.dataset.pwned = 1</script>",
        "\"'><img src=x onerror='document.documentElement.dataset.pwned = 1'>",
        "</script><script>document.documentElement.dataset.pwned = 1</script><!--<script>",
        "{{ 7 * 7 }} @{x}{safe} $$\\require{html}\\href{javascript:alert(1)}{x}$$",
    ],
)
def test_a_hostile_report_only_shows(hostile, browse, tmp_path):
    entry = case("OsuLatency %placement=two_nodes", name=hostile, placement=hostile, hint=hostile, suspects=[hostile])
    entry["per_node"] = {hostile: {"unit": hostile, "values": {hostile: 1, "node1": 2}}}
    for curve in entry["curves"].values():
        curve["y"] = curve["x"] = hostile
    text = render(judged(report([entry], user=hostile), tmp_path))
    with_policy = browse(text, "--dump-dom")
    without = browse(without_policy(text), "--dump-dom")
    for done in (with_policy, without):
        assert 'data-plots="1"' in done.stdout
        assert "data-pwned" not in done.stdout


@pytest.mark.parametrize("width", [420, 1280])
def test_it_can_be_photographed(width, browse, tmp_path):
    done = browse(campaign(tmp_path), f"--screenshot={tmp_path / 'page.png'}", width=width, height=3000)
    assert "bytes written" in done.stderr
    assert (tmp_path / "page.png").stat().st_size > 50_000


def test_it_prints(browse, tmp_path):
    done = browse(campaign(tmp_path), "--no-pdf-header-footer", f"--print-to-pdf={tmp_path / 'page.pdf'}")
    assert "bytes written" in done.stderr
    assert (tmp_path / "page.pdf").read_bytes().count(b"/Type /Page\n") + 1 > 5
