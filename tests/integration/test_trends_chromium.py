"""The dashboard in a browser: trends are drawn, any series can be chosen, one cursor of time goes through all."""

import html
import json
import re

import numpy as np
import pytest

from reports.history.findings import FindingKind, SeriesFinding
from reports.history.judgement import JudgedSeries
from reports.nightly.archive import Archive
from reports.nightly.dashboard import LIMIT, render
from tests.integration.browser import CHROMIUM, browser, without_policy
from tests.unit.nightly.samples import failed_night, night
from tests.unit.nightly.test_compare import series, stepped

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: install the package chromium")

PROBE = """
<script>
const seen = {};
seen.drawn = document.querySelectorAll(".trend .line").length;
seen.bounds = document.querySelectorAll(".trend .bound, .trend .far").length;
const type = (value) => {
  const field = document.getElementById("trend-filter");
  field.value = value;
  field.dispatchEvent(new Event("input"));
};
const pick = document.getElementById("trend-choice");
seen.offered = pick.options.length - 1;
type("last");
seen.found = [...pick.options].map((option) => option.textContent);
pick.value = pick.options[1].value;
pick.dispatchEvent(new Event("change"));
seen.chosen = document.querySelector("#trend-chosen figcaption").textContent;
const field = document.querySelector(".trend .field");
const { left, width } = field.getBoundingClientRect();
field.dispatchEvent(new PointerEvent("pointermove", { clientX: left + 0.98 * width }));
seen.cursors = [...document.querySelectorAll(".cursor")].filter((cursor) => !cursor.hidden).length;
seen.read = [...new Set([...document.querySelectorAll(".trend .tip")].map((tip) => tip.textContent.split(":")[0]))];
field.dispatchEvent(new PointerEvent("pointerleave"));
seen.after = [...document.querySelectorAll(".cursor")].filter((cursor) => !cursor.hidden).length;
seen.overflow = document.documentElement.scrollWidth - document.documentElement.clientWidth;
document.documentElement.dataset.seen = JSON.stringify(seen);
</script>
</body>"""


def dashboard():
    finding = SeriesFinding(FindingKind.QUIET, 1, 1, 0, 10)
    quiet = [JudgedSeries(series(np.arange(10.0) + 100, metric=metric), finding, False)
             for metric in [*(f"m{number}" for number in range(LIMIT + 3)), "the last"]]  # fmt: skip
    nights = (*(night(number) for number in range(9)), failed_night(9))
    return render("embedded", Archive(nights, (), ()), [stepped(5, nights=10), *quiet])


@pytest.mark.parametrize("width", [500, 1280])
def test_trends(width, tmp_path):
    done = browser(tmp_path)(without_policy(dashboard()).replace("</body>", PROBE), "--dump-dom", width=width)
    found = re.search(r'<html[^>]* data-seen="([^"]*)"', done.stdout)
    assert found, done.stderr
    seen = json.loads(html.unescape(found[1]))
    assert (seen["drawn"], seen["bounds"], seen["offered"]) == (LIMIT, LIMIT, LIMIT + 5)
    assert seen["found"][0] == f"1 of {LIMIT + 5} series: choose one"
    assert seen["chosen"].startswith("NodeLinks the last")
    assert (seen["cursors"], seen["after"]) == (LIMIT + 1, 0)
    assert len(seen["read"]) == 1, "the same night in all"
    assert seen["overflow"] <= 0


def test_they_are_drawn_under_the_pages_own_policy(tmp_path):
    done = browser(tmp_path)(dashboard(), "--dump-dom")
    assert f'data-trends="{LIMIT}"' in done.stdout
    assert [line for line in done.stderr.splitlines() if "CONSOLE" in line] == []
