"""axe, the checker of the Web Content Accessibility Guidelines, finds nothing on a page, folded or unfolded.

Each page takes 3 to 6 s: it is drawn, and axe looks at every element of it.
"""

import html
import importlib.util
import json
import pathlib
import re

import pytest

from reports.acceptance.dossier import write_dossier
from reports.compare.compare import compare
from reports.compare.figures import Past, figures_of
from reports.show.comparison import render as render_comparison
from reports.show.history_page import render as render_history
from reports.show.run_page import render
from tests.integration.browser import CHROMIUM, browser, without_policy
from tests.integration.test_trends_chromium import dashboard
from tests.tiers import long
from tests.unit.acceptance.conftest import Filled, clause
from tests.unit.nightly.test_compare import stepped
from tests.unit.reports.samples import complete, finding, judged, latency, recorded, report

_PACKAGE = importlib.util.find_spec("axe_playwright_python")
AXE = pathlib.Path(_PACKAGE.origin).with_name("axe.min.js") if _PACKAGE and _PACKAGE.origin else None
pytestmark = [
    long,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: install the package chromium"),
    pytest.mark.skipif(AXE is None, reason="no axe here: make setup-tests"),
]

# Unfolds everything, and leaves what axe found as text on the root element.
RUN = """
setTimeout(() => {
  for (const details of document.querySelectorAll("details")) details.open = UNFOLDED;
  axe.run().then(({ passes, violations }) => {
    document.documentElement.dataset.passed = passes.length;
    document.documentElement.dataset.found =
      JSON.stringify(violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)]));
  });
}, 1500);
"""


@pytest.fixture
def browse(tmp_path):
    return browser(tmp_path)


DARK = "--blink-settings=preferredColorScheme=0"


def findings(browse, text, unfolded, *options):
    """Return axe's violations on the page: (rule, elements)."""
    run = RUN.replace("UNFOLDED", json.dumps(unfolded))
    scripts = f"<script>{AXE.read_text(encoding='utf-8')}</script><script>{run}</script></body>"
    options = ("--virtual-time-budget=60000", "--dump-dom", *options)
    done = browse(without_policy(text).replace("</body>", scripts), *options)
    found = re.search(r'<html[^>]* data-found="([^"]*)"', done.stdout)
    assert found, done.stderr
    return json.loads(html.unescape(found[1]))


def run_page(tmp_path):
    odd = latency(value=900, name="Slow %placement=two_nodes", suspects=["node2"], findings=[finding("node2")])
    missing = latency("gpu", name="Missing", declared_metrics=["latency_8B", "missing"])
    return render(judged(report([*recorded("campaign")["runs"][0]["testcases"], odd, missing]), tmp_path))


@pytest.mark.parametrize("unfolded", [False, True])
def test_the_page_of_a_run(unfolded, browse, tmp_path):
    assert findings(browse, run_page(tmp_path), unfolded) == []


def test_the_page_of_a_run_on_a_dark_screen(browse, tmp_path):
    page = run_page(tmp_path)
    ask = "document.documentElement.dataset.dark = matchMedia('(prefers-color-scheme: dark)').matches"
    done = browse(without_policy(page).replace("</body>", f"<script>{ask}</script></body>"), "--dump-dom", DARK)
    assert 'data-dark="true"' in done.stdout
    assert findings(browse, page, True, DARK) == []


def test_the_dashboard_on_a_dark_screen(browse):
    assert findings(browse, dashboard(), True, DARK) == []


def test_the_page_of_a_comparison(browse, tmp_path):
    figures = []
    for number, value in enumerate((9.0, 30.0)):
        (folder := tmp_path / str(number)).mkdir()
        (folder / "run-report.json").write_text(json.dumps(complete(latency("gpu", value=value))))
        figures.append(figures_of(folder))
    assert findings(browse, render_comparison(compare(*figures, Past((figures[0],) * 3))), unfolded=True) == []


@pytest.mark.parametrize("unfolded", [False, True])
def test_the_dashboard(unfolded, browse):
    assert findings(browse, dashboard(), unfolded) == []


def test_the_history(browse):
    assert findings(browse, render_history("embedded", [stepped(5, nights=10)]), unfolded=True) == []


@pytest.fixture
def dossier(tmp_path):
    campaign = Filled(tmp_path / "campaign").demand(clause(), clause(id="B2", threshold={"value": 5, "unit": "us"}))
    load = {"node2": {"cores": 3.1, "of_cores": 64, "steal_cores": 0, "disk_mb_per_s": 0}}
    campaign.measure(9, 9.2, 11, load_by_others=load)
    write_dossier(campaign, tmp_path / "dossier", pdf=False, how_signed=None)
    return (tmp_path / "dossier/dossier.html").read_text(encoding="utf-8")


def test_the_dossier(dossier, browse):
    assert findings(browse, dossier, unfolded=True) == []


def test_the_dossier_fits_a_telephone(dossier, tmp_path):
    # Chromium's own window has 500 pixels at least.
    (tmp_path / "inner.html").write_text(dossier, encoding="utf-8")
    frame = """<iframe src="inner.html" width="390" height="2000" style="border: 0"></iframe><script>
        document.querySelector("iframe").addEventListener("load", ({ target }) => {
          const { scrollWidth, clientWidth } = target.contentDocument.documentElement;
          document.documentElement.dataset.widths = `${clientWidth} ${scrollWidth}`;
        });</script>"""
    done = browser(tmp_path)(f"<!DOCTYPE html><html><body>{frame}</body></html>", "--allow-file-access-from-files",
                             "--dump-dom")  # fmt: skip
    assert 'data-widths="390 390"' in done.stdout


def test_axe_sees_a_fault(browse, tmp_path):
    broken = run_page(tmp_path).replace("<h1>", '<img src="data:," width="40"><h1>')
    assert [rule for rule, _ in findings(browse, broken, unfolded=False)] == ["image-alt"]
