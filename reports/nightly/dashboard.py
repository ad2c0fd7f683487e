"""The dashboard: one self-contained HTML page over all nights of a site."""

from kappa.core.ground import figures, node_lists
from reports.history.findings import Kind
from reports.history.gate import Judged
from reports.history.judgement import MIN_VALUES
from reports.history.listing import HEADER
from reports.history.listing import row as finding_row
from reports.nightly.archive import Archive
from reports.nightly.compare import compare, first_step
from reports.nightly.coverage import coverage
from reports.nightly.months import months
from reports.nightly.trends import trends
from reports.show.html_page import OWN, render_page
from reports.verdict.state import State

# Months that are open; earlier ones unfold by year.
RECENT_MONTHS = 12
RECENT_NIGHTS = 30
FINDINGS_LIMIT = 50


def render(site: str, archive: Archive, findings: list[Judged]) -> str:
    """The page on ``archive``, which has at least one night. Everything from reports is escaped."""
    now = archive.nights[-1]
    series = trends(findings, archive.nights)
    calendar = months(archive.nights)
    changed = [one for one in findings if one.finding.changed]
    functions = {
        "State": State,
        "counted": figures.counted,
        "coverage": coverage,
        "duration": figures.duration,
        "finding_row": finding_row,
        "folded": node_lists.folded,
    }
    return render_page(
        "nightly.html.j2",
        [],
        functions,
        own=(*OWN, "trends.js"),
        site=site,
        archive=archive,
        now=now,
        change=compare(archive.before, now, findings),
        before=archive.before,
        first_step=first_step(now, findings),
        recent=calendar[:RECENT_MONTHS],
        earlier=calendar[RECENT_MONTHS:],
        nights=archive.nights[: -RECENT_NIGHTS - 1 : -1],
        findings=findings,
        changed=changed[:FINDINGS_LIMIT],
        header=HEADER,
        changed_in_all=len(changed),
        trends=series,
        drawings={"days": series.days, "series": series.drawings},
        thin=sum(one.finding.kind is Kind.THIN for one in findings),
        least=MIN_VALUES,
        suspects=_suspects(archive),
    )


def _suspects(archive: Archive) -> list[tuple[str, int, str, str, tuple[str, ...]]]:
    """(node, nights suspect among the recent ones, first of them, last, evidence of the last), most often first."""
    found: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for night in archive.nights[-RECENT_NIGHTS:]:
        for node, evidence in night.suspects.items():
            found.setdefault(node, []).append((night.night, evidence))
    rows = [(node, len(times), times[0][0], times[-1][0], times[-1][1]) for node, times in found.items()]
    newest = archive.nights[-1].night
    return sorted(rows, key=lambda row: (row[3] != newest, -row[1], row[0]))
