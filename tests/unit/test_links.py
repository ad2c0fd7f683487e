"""Links between the pages lead to files and headings that are there."""

import pathlib
import re

import pytest

REPOSITORY = pathlib.Path(__file__).parents[2]
PAGES = sorted({*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/**/*.md"), *REPOSITORY.glob("emt_app/**/*.md")})
_CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def _anchors(page: pathlib.Path) -> set[str]:
    """The anchors of the headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.*)", re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.M), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_links_lead_somewhere(page):
    lost = []
    for target in _LINK.findall(_CODE.sub("", page.read_text("utf-8"))):
        name, _, anchor = target.partition("#")
        if ":" in name:
            continue
        file = page.parent / name if name else page
        if not file.exists() or (anchor and anchor not in _anchors(file)):
            lost.append(target)
    assert not lost
