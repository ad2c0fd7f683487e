import html.parser
import json
import re

import pytest

from kappa.core.vocabulary.checks import catalogue
from reports.show.run_page import render
from tests.unit.reports.samples import case, complete, finding, judged, latency, recorded, report

HOSTILE = "\"><script>alert(1)</script><img src=x onerror=alert(2)>'&amp;\x1b[31m</script><!--"


class Page(html.parser.HTMLParser):
    """Collects what matters: elements with their attributes, text, and scripts."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.scripts, self.visible, self._inside = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._inside.append(tag)
            if tag == "script":
                self.scripts.append("")

    def handle_endtag(self, tag):
        if self._inside and self._inside[-1] == tag:
            self._inside.pop()

    def handle_data(self, data):
        if not self._inside:
            self.visible.append(data)
        elif self._inside[-1] == "script":
            self.scripts[-1] += data

    @property
    def text(self):
        return " ".join(" ".join(self.visible).split())


@pytest.fixture
def page(tmp_path):
    return lambda document: Page(render(judged(document, tmp_path)))


def test_a_figure_out_of_bounds_says_what_it_means_and_another_failure_does_not(page):
    means = catalogue()["OsuLatency"].failure_means
    assert means in page(report([latency(value=900)])).text
    killed = latency(value=None, perfvalues=None, result="fail", fail_phase="run", descr="latency")
    told = page(report([killed])).text
    assert means not in told and "kappa docs OsuLatency" in told


def hostile_report():
    entry = latency(
        value=900, name=HOSTILE, hint=HOSTILE, fail_reason=HOSTILE, job_nodelist=[HOSTILE], suspects=[HOSTILE],
        notes=[HOSTILE],
        environ=HOSTILE, stagedir=HOSTILE, placement=HOSTILE, family=HOSTILE, check_class=HOSTILE,
        provenance={"hostname": HOSTILE, "executable": HOSTILE, "sha256": HOSTILE, "files": {HOSTILE: HOSTILE}},
        reference_sources={"m": {"source": HOSTILE, "date": HOSTILE, "samples": 0, "method": HOSTILE}},
        curves={HOSTILE: {"x": HOSTILE, "x_unit": "B", "y": HOSTILE, "y_unit": HOSTILE, "points": [[1, 2], [2, 3]],
                          "gated": {HOSTILE: HOSTILE}}},
        per_node={HOSTILE: {"unit": HOSTILE, "values": {HOSTILE: 1, "node1": 2}}},
        matrices={HOSTILE: {"unit": HOSTILE, "nodes": [HOSTILE, "node1"], "values": [[None, 1], [2, None]]}},
        findings=[finding(HOSTILE, quantity=HOSTILE, evidence=HOSTILE)],
        perfvalues={HOSTILE: [900, 500, None, 0, HOSTILE, "fail"]},
    )  # fmt: skip
    entry["partition"] = HOSTILE
    return report([entry, entry], [{**entry, "perfvalues": {}}], user=HOSTILE, hostname=HOSTILE, cmdline=HOSTILE)


def test_every_section(page):
    known = latency("gpu", result="xfail", name="Known")
    known["perfvalues"]["embedded:gpu:latency_8B"] = [900, 500, None, 0, "us", "xfail"]
    first, second = recorded("retried")["runs"]
    cases = [*recorded("campaign")["runs"][0]["testcases"], latency(value=900, name="Slow", suspects=["node2"]), known]
    found = page(report([*cases, *first["testcases"]], second["testcases"]))
    ids = [attributes["id"] for tag, attributes in found.elements if tag == "section" and "id" in attributes]
    assert ids == [
        "failures", "suspects", "known", "unstable", "results",
        "curves", "nodes", "few", "not-provided", "provenance", "session",
    ]  # fmt: skip
    assert "1 of 49 cases failed; suspect: node2." in found.text
    assert "latency_8B 900 us, allowed ≤ 500 (+80 % from the reference)" in found.text


def test_results_have_their_sort_keys_and_filters(page):
    found = page(complete(latency("gpu", value=None, perfvalues={}, result="fail")))
    rows = [attributes for tag, attributes in found.elements if tag == "tr" and "data-state" in attributes]
    assert [(row["data-state"], row["data-partition"]) for row in rows] == [
        ("FAIL", "gpu"), ("PASS", "cpu"), ("PASS", "cpu"), ("INFO", "cpu"),
    ]  # fmt: skip
    folds = [(attributes["class"], "open" in attributes) for tag, attributes in found.elements
             if tag == "details" and "group" in attributes.get("class", "")]  # fmt: skip
    assert folds == [("group fail", True), ("group pass", False)]
    keys = [attributes["data-key"] for tag, attributes in found.elements if tag == "td" and "data-key" in attributes]
    assert "9.0" in keys
    options = [attributes for tag, attributes in found.elements if tag == "option"]
    assert len(options) == (1 + 3) + (1 + 2)


def test_contents_and_coverage(page):
    found = page(complete(latency(value=900, name="Slow")))
    ids = [(tag, attributes["id"]) for tag, attributes in found.elements if "id" in attributes]
    links = [attributes["href"] for tag, attributes in found.elements if tag == "a"]
    assert len({id for _, id in ids}) == len(ids), "each id is there once"
    assert {f"#{id}" for tag, id in ids if tag == "section"} <= set(links)
    assert set(links) <= {f"#{id}" for _, id in ids}
    assert "#Slow-on-cpu-packaged" in links and ("details", "check-OsuLatency") in ids
    assert "2 checks ran, 3 checks not provided here" in found.text


def test_nothing_from_the_report_becomes_markup(page):
    found = page(hostile_report())
    assert not [tag for tag, attributes in found.elements if tag == "img" or "onerror" in attributes]
    assert len(found.scripts) == 3, "data, Bokeh, and the page's own"
    assert "alert(1)" in found.text
    assert "\x1b" not in found.text
    items = json.loads(found.scripts[0])
    assert "<script>alert(1)</script>" in json.dumps(items)
    assert "alert(1)" not in found.scripts[1] + found.scripts[2]


def test_only_the_pages_own_scripts_may_run(page):
    found = page(complete())
    policy = next(
        attributes["content"] for tag, attributes in found.elements if tag == "meta" and "http-equiv" in attributes
    )
    assert "default-src 'none'" in policy
    scripts = policy.split("script-src")[1]
    assert len(re.findall(r"'sha256-[A-Za-z0-9+/=]{44}'", scripts)) == 2
    assert "unsafe" not in scripts


def test_nothing_is_loaded_from_anywhere(page):
    found = page(recorded("campaign"))
    assert not [
        (tag, attributes)
        for tag, attributes in found.elements
        if attributes.keys() & {"src", "srcset", "action", "poster", "background"}
        or tag in ("link", "iframe", "object", "base")
    ]
    links = [attributes["href"] for tag, attributes in found.elements if "href" in attributes]
    assert all(link.startswith("#") for link in links)


def test_a_report_without_plots_carries_no_bokeh(tmp_path):
    text = render(judged(report([]), tmp_path))
    assert "INCOMPLETE" in text
    assert "The report has no case." in text
    assert len(text) < 40_000


def test_several_environments_are_told_apart(page):
    def environments(document):
        return page(document).text.rsplit("Provenance", 1)[0].rsplit("Results", 1)[1]

    assert "packaged" not in environments(complete())
    other = environments(complete(latency(environ="other-mpi")))
    assert "packaged" in other
    assert "other-mpi" in other


def test_a_file_that_changed_between_cases_is_pointed_out(page):
    changed = latency()
    changed["provenance"] = {**changed["provenance"], "sha256": "f" * 64}
    assert "differs between cases" in page(complete(changed)).text
    assert "differs between cases" not in page(complete(latency())).text


def test_the_energy_of_a_job_stands_beside_it(tmp_path):
    text = Page(render(judged(complete(latency("gpu", energy_j=47310)), tmp_path))).text
    assert "Energy (kJ)" in text and " 47.31 " in text


def test_the_cards_of_a_broken_partition_are_folded(page):
    text = page(report([latency(value=501 + number) for number in range(23)])).text
    assert "3 more failures" in text
    assert "more failure" not in page(report([latency(value=501 + number) for number in range(20)])).text


def test_a_case_that_is_worse_than_its_metrics_has_a_row(page):
    found = page(complete(latency("gpu", declared_metrics=["latency_8B", "missing"])))
    states = [
        attributes["data-state"] for tag, attributes in found.elements if tag == "tr" and "data-state" in attributes
    ]
    assert states.count("INCOMPLETE") == 1


def test_the_numbers_of_plots_are_in_tables_too(page):
    text = page(report([case("OsuLatency %placement=two_nodes"), case("PartitionHealth")])).text
    assert " 1 048 576 " in text
    assert "memory per node (GiB)" in text


def test_evidence_comes_with_a_suggestion_that_is_only_text(page):
    missing = finding("node7", score=None, evidence="not measured with 7 of 7 nodes")
    odd = finding("n1; reboot", score=9.0)
    link = finding("node2-node3", kind="link", nodes=["node2", "node3"], score=80.0)
    named = {"findings": [odd, link, missing], "suspects": ["node7", "n1; reboot"]}
    nodes = ["node2", "node3", "node7", "n1; reboot"]
    found = page(complete(latency("gpu", value=900, job_nodelist=nodes, **named)))
    evidence = found.text.rsplit("Measured evidence", 1)[1]
    assert evidence.index("node node7") < evidence.index("link node2-node3") < evidence.index("node n1; reboot")
    assert "scontrol update nodename=node7 state=drain reason='Kappa OsuLatency: bandwidth not measured" in found.text
    assert "scontrol update nodename='n1; reboot' state=drain" in found.text
    assert "nodename=node2-node3" not in found.text
