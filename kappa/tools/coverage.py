"""What the source documents measure, and which checks measure it here: ``docs/coverage.yaml`` as the tables of
``docs/coverage.md``.

The data names documents, what they measure, and checks; whether these run is not said there but follows from what the
embedded site states, so that it cannot become untrue.
"""

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
from kappa.core.vocabulary.checks import CataloguedCheck
from kappa.core.vocabulary.features import ENVIRONMENT_FEATURES, PARTITION_FEATURES, STORAGE_FEATURES
from kappa.core.vocabulary.modes import FULL
from kappa.core.vocabulary.tables import as_markdown

DATA, PAGE = "docs/coverage.yaml", "docs/coverage.md"
EMBEDDED, FABRICS = SUITE / "site_configs/embedded", SUITE / "site_configs/simulated/fabrics"
MEASURED, NOT_PROVIDED, PROXY, MISSING = "measured on the embedded cluster", "not provided here", "proxy", "missing"
HEADER = ("what is measured", "system", "our checks", "state", "remarks")

Text = Annotated[str, Meta(min_length=1)]


class Proxy(Struct, frozen=True, forbid_unknown_fields=True):
    """What stands for a code that cannot be had: its ``pattern`` of communication, the rule for the ``size`` of its
    problem, and which ``scaling`` the document measures."""

    code: Text
    pattern: Text
    size: Text
    scaling: Text


class CoverageRow(Struct, frozen=True, forbid_unknown_fields=True):
    """``needs`` are features of the document's system besides those that the checks need; ``simulated_on`` are fabrics
    on which the checks are simulated, too."""

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
        # Without a reason for the lack of a feature, the machine alone tells of it, or the run is incomplete.
        of_machine = {one for found in unexplained(stated, site.expected, FULL) for one in found.features}
        return cls(frozenset(stated.stated_features() | of_machine))

    def lacking(self, check: CataloguedCheck, needs: Collection[str]) -> frozenset[str]:
        """The features without which the case that comes nearest does not run."""
        environ = [need for need in check.needs_environ if not self.features & set(need.split("|"))]
        cases = [{*case.features} - self.features - {*needs} for case in check.cases]
        partition = min(cases, key=lambda one: (len(one), sorted(one)))
        return frozenset([*environ, *partition, *({*needs} - self.features)])


def read(path: pathlib.Path, checks: Mapping[str, CataloguedCheck]) -> CoverageData:
    """
    :raises InputError: it cannot be used; names file, line, row and what was expected.
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
    """One of four, and the features that are lacking, of each check if not all lack the same."""
    if not row.checks:
        return MISSING
    lacking = {name: provided.lacking(checks[name], row.needs) for name in row.checks}
    here = [name for name, features in lacking.items() if not features]
    if len(set(lacking.values())) == 1:
        needed = f", which lacks {_ticked(lacking[row.checks[0]])}" if not here else ""
    else:
        each = (f"`{name}` lacks {_ticked(features)}" for name, features in lacking.items() if features)
        needed = f"; {', '.join(each)}"
    if row.proxy:
        return f"{PROXY}, {MEASURED if here else NOT_PROVIDED}{needed}"
    return f"{MEASURED if here else NOT_PROVIDED}{needed}"


def page(coverage: CoverageData, checks: Mapping[str, CataloguedCheck]) -> str:
    """How many rows are in which state and which are missing, then a table for each document."""
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
        begins = "stands for it" if row.checks else "could stand for it"
        words = {begins: proxy.code, "pattern": proxy.pattern, "size": proxy.size, "scaling": proxy.scaling}
        remarks += [f"{title}: {text}" for title, text in words.items()]
    return (row.measured, row.system, _ticked(row.checks, sort=False), text, "; ".join(filter(None, remarks)))


def _ticked(names: Iterable[str], *, sort: bool = True) -> str:
    return ", ".join(f"`{name}`" for name in (sorted(names) if sort else names))
