import pytest

from reports.show.terminal import show
from tests.unit.reports.samples import case, complete, judged, latency, recorded, report


@pytest.fixture
def printed(tmp_path, monkeypatch, capsys):
    """Return the output of ``show`` for a document, in a terminal of a given width, or in a pipe."""

    def run(document, width=None, **options):
        if width is None:
            monkeypatch.delenv("COLUMNS", raising=False)
        else:
            monkeypatch.setenv("COLUMNS", str(width))
        show(judged(document, tmp_path), **options)
        return capsys.readouterr().out

    return run


def everything():
    """A report with something to show in every section."""
    known = latency("gpu", result="xfail", name="Known")
    known["perfvalues"]["embedded:gpu:latency_8B"] = [900, 500, None, 0, "us", "xfail"]
    first, second = recorded("retried")["runs"]
    return report(
        [
            case("PartitionState"), latency(), latency(value=900, name="Slow", suspects=["node2"]), known,
            latency(name="Unreferenced", perfvalues={"embedded:cpu:x": [1, 0, None, None, "us", "pass"]}),
            *first["testcases"],
        ],
        second["testcases"],
    )  # fmt: skip


def test_failures_and_the_headline_come_last_and_every_section_is_there(printed):
    text = printed(everything())
    titles = [
        "Passed",
        "Not provided",
        "Results",
        "Unstable",
        "Known failures",
        "\nIncomplete",
        "Suspect nodes",
        "Failures",
        "✘ FAIL  ",
    ]
    places = [text.rindex(title) for title in titles]
    assert places == sorted(places)
    assert "failed 1, incomplete 1, passed 3, known to fail 1, unstable 1" in text
    assert "\x1b" not in text, "a pipe gets no colours"


def test_the_operator_line_is_one_line_in_a_log(printed):
    lines = [line for line in printed(everything()).splitlines() if line.startswith("✘ Slow")]
    assert len(lines) == 1
    assert lines[0].endswith("/rfm_job.out")
    assert "suspect node2" in lines[0]


def test_a_failed_metric_is_shown_with_bound_deviation_and_source(printed):
    row = next(
        line
        for line in printed(everything()).splitlines()
        if "✘ FAIL" in line and "latency_8B" in line and "900" in line and "≤ 500" in line and "theoretical" in line
    )
    assert row.split() == ["✘", "FAIL", "latency_8B", "900", "us", "≤", "500", "+80", "500", "theoretical"]


def test_what_passed_is_brief_unless_all_is_asked_for(printed):
    brief = printed(complete())
    assert "OsuLatency" in brief
    assert "theoretical" not in brief
    assert "Not provided here: 3 checks." in brief and "no GPU in this machine" not in brief
    assert len(brief.splitlines()) < 24
    everything = printed(complete(), verbose=True)
    assert "theoretical" in everything and "node[1-2]" in everything and "no GPU in this machine" in everything


def test_notes_of_cases_are_shown_when_all_is_asked_for(printed):
    noted = complete({**latency(), "notes": ["7 lines of [0] MPI startup()\x1b[1m"]})
    assert "Notes" not in printed(noted)
    text = printed(noted, verbose=True)
    assert "OsuLatency %placement=two_nodes on cpu+packaged: 7 lines of [0] MPI startup()\n" in text


@pytest.mark.parametrize("width", [40, 80, 200])
def test_any_width(width, printed):
    text = printed(everything(), width)
    assert "FAIL" in text
    folded = [line for line in text.splitlines() if not line.startswith(("✘ ", "◌ ", "◆ ", "≈ ", "    "))]
    assert max(map(len, folded)) <= width


def test_hostile_text_stays_text(printed):
    hostile = latency(
        result="fail", name="[red]x[/red] :smile: \x1b[31m", perfvalues={}, fail_reason="[bold]\x1b]0;t\x07 boo"
    )
    text = printed(report([hostile]))
    assert "[red]x[/red] :smile:" in text
    assert "[bold] boo" in text
    assert "\x1b" not in text


def test_no_case_at_all(printed):
    assert "◌ INCOMPLETE" in printed(report([]))
