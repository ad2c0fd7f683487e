"""What a page of a dossier shows where its verdicts stand: the part that people sign, read back from the page itself.

The page marks these places: ``data-shown`` says what stands there, the text between the tags is what a reader sees.
"""

import html.parser
from collections import defaultdict

from reports.acceptance.judge import Verdict

MARK = "data-shown"


def expected(verdict: Verdict, evidence: str) -> dict[str, set[str]]:
    """What a page on ``verdict`` has to show; in ``Outcome``'s and ``Acceptance``'s words, not in prose."""
    clauses = {f"clause {clause.clause.id}": {clause.outcome.word.upper()} for clause in verdict.clauses}
    return {"verdict": {verdict.acceptance.word}, "evidence": {evidence}, **clauses}


def shown(page: str) -> dict[str, set[str]]:
    """Every text that the page shows in a place, by the place.

    :raises ValueError: it is no page that can be read.
    """
    reader = _Reader()
    try:
        reader.feed(page)
        reader.close()
    except AssertionError as err:  # what html.parser has for a declaration that it does not know
        raise ValueError(str(err)) from err
    return dict(reader.found)


class _Reader(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: defaultdict[str, set[str]] = defaultdict(set)
        self._place: str | None = None
        self._text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._end()
        self._place = dict(attrs).get(MARK)

    def handle_endtag(self, tag: str) -> None:
        self._end()

    def handle_data(self, data: str) -> None:
        self._text += data if self._place is not None else ""

    def _end(self) -> None:
        """The text of a place has no further tags in it."""
        if self._place is not None:
            self.found[self._place].add(self._text)
        self._place, self._text = None, ""
