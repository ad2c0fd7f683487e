import pytest

from kappa.core.ground.clean_text import clean, clean_object, one_line
from reports.show.run_page import render
from reports.show.terminal import show
from reports.verdict.summary import to_json
from tests.unit.reports.samples import complete, judged, latency, report, with_metric

HUGE, TINY = 1e308, 5e-324


@pytest.mark.parametrize(
    ("hostile", "harmless"),
    [
        ("plain text\twith tab\nand line", "plain text\twith tab\nand line"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;new title\x07text", "text"),
        ("\x1b]8;;http://example.org\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bP1$r0m\x1b\\after", "after"),
        ("\x9b2Jgone", "gone"),
        ("\x1b(0box", "box"),
        ("a\rb\x08c\x7fd\x00e", "abcde"),
        ("user\u202egnp.exe", "usergnp.exe"),
        ("zero\u200bwidth", "zerowidth"),
        ("half \ud83d pair", "half  pair"),
        ("cut off \x1b[", "cut off "),
        ("µs ≥ 5 — naïve 日本", "µs ≥ 5 — naïve 日本"),
    ],
)
def test_clean_removes_what_can_act(hostile, harmless):
    assert clean(hostile) == harmless
    clean(hostile).encode()


def test_an_object_is_cleaned_with_its_keys_and_lists():
    assert clean_object([("a\x1b[1mb", ["\x07x", ["y\x00"], 1, None]), ("c", "d\r")]) == {
        "ab": ["x", ["y"], 1, None], "c": "d",
    }  # fmt: skip


@pytest.mark.parametrize("keys", [("a", "a"), ("a", "a\x1b[0m")])
def test_keys_that_would_hide_one_another_are_refused(keys):
    with pytest.raises(ValueError, match="has a key twice"):
        clean_object([(key, 1) for key in keys])


def test_one_line_folds_and_cuts():
    assert one_line("a\n  b\t c", 80) == "a b c"
    assert one_line("x" * 100, 10) == "x" * 9 + "…"
    assert len(one_line("word " * 10_000_000, 50)) <= 50
    assert one_line("   " * 100 + "late", 10).endswith("…")


@pytest.mark.parametrize(
    "document",
    [
        with_metric(HUGE, reference=TINY, upper=0.1, result="fail"),
        with_metric(9.0, reference=TINY, upper=0.1, result="fail"),
        with_metric(-HUGE, reference=HUGE, lower=-HUGE, upper=HUGE),
        with_metric(10**300, reference=10**200),
        complete(latency("gpu", per_node={"m": {"unit": "us", "values": {"n1": HUGE, "n2": -HUGE, "n3": TINY}}})),
        complete(latency("gpu", time_run=HUGE, job_s=HUGE, job_submit_time=-HUGE, job_completion_time_unix=HUGE)),
        report([latency()], time_elapsed=HUGE),
    ],
)
def test_numbers_that_no_one_measures_break_no_page(document, tmp_path):
    verdict = judged(document, tmp_path)
    to_json(verdict)
    show(verdict, verbose=True)
    assert "</html>" in render(verdict)
