"""Write the tables of ``docs/coverage.md`` from ``docs/coverage.yaml``: which check measures what a document measures.

The data names documents, their measurements, and checks. It does not state whether the checks run: this follows from
the embedded site, so that it is always true.
"""

import argparse
import pathlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta, Struct

from kappa.core.fabrics.description import fabric_names
from kappa.core.ground.documents import YamlFile, require_sound
from kappa.core.ground.folders import SUITE
from kappa.core.sites.derivation import unexplained
from kappa.core.sites.load import Site
from kappa.core.vocabulary.check_pages import as_markdown
from kappa.core.vocabulary.checks import CataloguedCheck, catalogue
from kappa.core.vocabulary.features import ENVIRONMENT_FEATURES, PARTITION_FEATURES, STORAGE_FEATURES
from kappa.core.vocabulary.modes import FULL

DATA, PAGE = "docs/coverage.yaml", "docs/coverage.md"
EMBEDDED, FABRICS = SUITE / "site_configs/embedded", SUITE / "site_configs/simulated/fabrics"
MEASURED, NOT_PROVIDED, PROXY, MISSING = "measured on the embedded cluster", "not provided here", "proxy", "missing"
HEADER = ("measurement", "system", "our checks", "state", "remarks")

Text = Annotated[str, Meta(min_length=1)]


class Proxy(Struct, frozen=True, forbid_unknown_fields=True):
    """Replacement of a code that is not available: its ``pattern`` of communication, the rule for the ``size`` of the
    problem, and the ``scaling`` that the document measures."""

    code: Text
    pattern: Text
    size: Text
    scaling: Text


class CoverageRow(Struct, frozen=True, forbid_unknown_fields=True):
    """A row of the page.

    ``needs`` are features of the document's system, in addition to the features that the checks need. ``simulated_on``
    are fabrics on which the checks are also simulated.
    """

    measured: Text
    system: Text
    checks: list[str] = []
    needs: list[str] = []
    simulated_on: list[str] = []
    proxy: Proxy | None = None
    remarks: str = ""


class Document(Struct, frozen=True, forbid_unknown_fields=True):
    title: Text
    by: Text
    rows: Annotated[list[CoverageRow], Meta(min_length=1)]


class CoverageData(Struct, frozen=True, forbid_unknown_fields=True):
    documents: Annotated[list[Document], Meta(min_length=1)]


@dataclass(frozen=True)
class Provided:
    """Features that the embedded cluster has in mode full."""

    features: frozenset[str]

    @classmethod
    def here(cls) -> "Provided":
        site = Site(EMBEDDED)
        assert site.description  # it has a site.yaml
        stated = site.description.as_stated
        # A missing feature without a reason: the machine has it, or the run is INCOMPLETE.
        of_machine = {one for found in unexplained(stated, site.expected, FULL) for one in found.features}
        return cls(frozenset(stated.stated_features() | of_machine))

    def lacking(self, check: CataloguedCheck, needs: Collection[str]) -> frozenset[str]:
        """Return the missing features of ``check``'s case that lacks the fewest, and the missing ones of ``needs``."""
        environ = [need for need in check.needs_environ if not self.features & set(need.split("|"))]
        cases = [{*case.features} - self.features - {*needs} for case in check.cases]
        partition = min(cases, key=lambda one: (len(one), sorted(one)))
        return frozenset([*environ, *partition, *({*needs} - self.features)])


def read(path: pathlib.Path, checks: Mapping[str, CataloguedCheck]) -> CoverageData:
    """Read the rows from ``path``.

    :raises InputError: the file is not valid; names file, line, row and the expected value.
    """
    file = YamlFile(path)
    found = file.decode(CoverageData)
    require_sound([file])
    coverage: CoverageData = found
    features = [*PARTITION_FEATURES, *STORAGE_FEATURES, *ENVIRONMENT_FEATURES]
    legal = {"checks": [*checks], "needs": features, "simulated_on": fabric_names(FABRICS)}
    for number, document in enumerate(coverage.documents):
        for place, row in enumerate(document.rows):
            for key, names in legal.items():
                for index, name in enumerate(getattr(row, key)):
                    at = ("documents", number, "rows", place, key, index)
                    file.require_known(at, name, names, f"name in {key} of the row {row.measured!r}")
    require_sound([file])
    return coverage


def state(row: CoverageRow, checks: Mapping[str, CataloguedCheck], provided: Provided) -> str:
    """Return one of the four states, and the missing features: for each check if they differ."""
    if not row.checks:
        return MISSING
    lacking = {name: provided.lacking(checks[name], row.needs) for name in row.checks}
    here = [name for name, features in lacking.items() if not features]
    if len(set(lacking.values())) == 1:
        needed = f": lacks {_ticked(lacking[row.checks[0]])}" if not here else ""
    else:
        each = (f"`{name}` lacks {_ticked(features)}" for name, features in lacking.items() if features)
        needed = f"; {', '.join(each)}"
    if row.proxy:
        return f"{PROXY}, {MEASURED if here else NOT_PROVIDED}{needed}"
    return f"{MEASURED if here else NOT_PROVIDED}{needed}"


def page(coverage: CoverageData, checks: Mapping[str, CataloguedCheck]) -> str:
    """Return the number of rows in each state, then a table for each document."""
    provided = Provided.here()
    states = {id(row): state(row, checks, provided) for document in coverage.documents for row in document.rows}
    counts = Counter(_kind(one) for one in states.values())
    counted = ", ".join(f"{counts[kind]} {kind}" for kind in (MEASURED, NOT_PROVIDED, PROXY, MISSING))
    parts = [f"{len(states)} rows: {counted}."]
    for document in coverage.documents:
        rows = [_cells(row, states[id(row)]) for row in document.rows]
        parts += [f"## {document.title}", f"{document.by}.", as_markdown([HEADER, *rows])]
    return "\n\n".join(parts)


def _kind(text: str) -> str:
    return next(kind for kind in (PROXY, MISSING, MEASURED, NOT_PROVIDED) if text.startswith(kind))


def _cells(row: CoverageRow, text: str) -> tuple[str, ...]:
    remarks = [row.remarks, f"simulated on {_ticked(row.simulated_on)}" if row.simulated_on else ""]
    if proxy := row.proxy:
        begins = "proxy" if row.checks else "possible proxy"
        words = {begins: proxy.code, "pattern": proxy.pattern, "size": proxy.size, "scaling": proxy.scaling}
        remarks += [f"{title}: {text}" for title, text in words.items()]
    return (row.measured, row.system, _ticked(row.checks, sort=False), text, "; ".join(filter(None, remarks)))


def _ticked(names: Iterable[str], *, sort: bool = True) -> str:
    return ", ".join(f"`{name}`" for name in (sorted(names) if sort else names))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.coverage", description=__doc__)
    parser.add_argument("file", type=pathlib.Path, nargs="?", default=SUITE / DATA, help=f"default: {DATA}")
    print(page(read(parser.parse_args().file, catalogue()), catalogue()))
