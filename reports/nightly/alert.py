"""The alert on the newest night: whether there is something to say, and one JSON document that says it."""

import datetime
import json
import re
import urllib.parse
from dataclasses import dataclass

import msgspec

from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.errors import InputError
from reports.history.judgement import JudgedSeries
from reports.history.listing import of_series
from reports.nightly.archive import NIGHTS, Archive
from reports.nightly.message import changes_between, first_step
from reports.nightly.night import Night
from reports.nightly.night_findings import findings_of_night, of_problem
from reports.verdict.state import State
from reports.verdict.summary import acknowledged_document

#: Version of the document: a change that a reader would misread gets a new number.
VERSION = 1
_SUBJECT_LIMIT = 200
_PREFIX = re.compile(r"https?://[A-Za-z0-9.\-:\[\]]+(?:/[A-Za-z0-9._~/%@:+,=-]*)?")


@dataclass(frozen=True)
class Links:
    """Where the results of the site are served; without a ``prefix`` there is no link."""

    prefix: str = ""

    @classmethod
    def of(cls, prefix: str) -> "Links":
        """:raises InputError: it is no plain http or https URL."""
        if not _PREFIX.fullmatch(prefix):
            raise InputError(
                f"expected the URL under which the site's results are served, as https://host/kappa/SITE,"
                f" found {one_line(clean(prefix), 200)!r}"
            )
        return cls(prefix.rstrip("/"))

    @property
    def dashboard(self) -> str:
        return f"{self.prefix}/nightly/index.html" if self.prefix else ""

    def report(self, night: Night) -> str:
        """Return the link to the page of ``night``; empty if it has none."""
        if not self.prefix or not night.has_page:
            return ""
        return f"{self.prefix}/{NIGHTS}/{urllib.parse.quote(night.folder, safe='')}/report.html"


NO_LINKS = Links()


@dataclass(frozen=True)
class NightAlert:
    """``because`` says why there is something to say, and is empty if there is nothing; ``text`` is the message in
    Markdown, ``document`` the JSON, ``folder`` the night's."""

    subject: str
    text: str
    document: str
    because: tuple[str, ...]
    folder: str


def make_alert(site: str, archive: Archive, judged: list[JudgedSeries], text: str, links: Links) -> NightAlert:
    """The alert on the newest night of ``archive``, which has at least one; ``text`` is its message."""
    now, before = archive.nights[-1], archive.before
    because = reasons(archive, judged)
    verdict = now.state.word.upper()
    document = {
        "kappa": "night",
        "version": VERSION,
        "site": site,
        "night": now.night,
        "mode": now.mode,
        "started": _utc(now.started),
        "ended": _utc(now.ended),
        "verdict": verdict,
        "verdict_before": before.state.word.upper() if before else None,
        "because": because,
        "headline": now.headline,
        "first_step": first_step(now, judged, archive.acknowledged),
        "findings": _findings(archive, judged),
        "gaps": now.gaps,
        "report": links.report(now) or None,
        "dashboard": links.dashboard or None,
        "text": text,
    }
    subject = one_line(clean(f"Kappa {site}: {verdict}, night of {now.night}: {now.headline}"), _SUBJECT_LIMIT)
    return NightAlert(subject, text, json.dumps(document, indent=1, ensure_ascii=False) + "\n", because, now.folder)


def reasons(archive: Archive, judged: list[JudgedSeries]) -> tuple[str, ...]:
    """Return the reasons for an alert on the newest night: a worse or changed verdict, findings that are not
    acknowledged, missing parts, or lost nights before it. Empty if there is none."""
    now, before = archive.nights[-1], archive.before
    was = before.state if before else State.PASS
    unacknowledged = [one for one in findings_of_night(now, judged) if not archive.acknowledged.of(one.finding)]
    found = {
        "verdict_worse": now.state.severity > was.severity,
        "verdict_better": now.state.severity < was.severity,
        "findings": bool(unacknowledged),
        "incomplete": now.state is State.INCOMPLETE or bool(now.gaps or archive.damaged),
        "lost_night": bool(archive.lost),
    }
    return tuple(reason for reason, holds in found.items() if holds)


def _findings(archive: Archive, judged: list[JudgedSeries]) -> list[dict[str, object]]:
    now = archive.nights[-1]
    change = changes_between(archive.before, now, judged)
    new = {("node", node) for node in change.suspects}
    named = [*(of_problem(now, one) for one in change.failing), *map(of_series, change.worse)]
    new |= {(one.kind, one.name) for one in named}
    return [
        {
            **msgspec.to_builtins(one.finding),
            "new": (one.finding.kind, one.finding.name) in new,
            "text": one.text,
            "hint": one.hint,
            "acknowledged": acknowledged_document(archive.acknowledged.of(one.finding)),
        }
        for one in findings_of_night(now, judged)
    ]


def _utc(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat(timespec="seconds")
