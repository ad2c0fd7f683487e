"""Write the page of a check and the table of all checks, for ``kappa docs``."""

import re
import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from kappa.core.vocabulary.checks import CataloguedCheck, worse_by_unit
from kappa.core.vocabulary.features import ENVIRONMENT_FEATURES, PARTITION_FEATURES, SIMULATED, STORAGE_FEATURES
from kappa.core.vocabulary.scales import LAYOUTS

_BETTER = {1: "lower is better", -1: "higher is better", 0: ""}
_HEADER = ("check", "what it validates", "metrics", "needs of a partition", "needs of an environment", "a case takes")
# The features that choose cases by scale. The table leaves them out.
_LAYOUTS = {layout.feature for layout in LAYOUTS.values()}
_MOST_VALUES = 8
_LINK = re.compile(r"\[([^\]]+)\]\(([\w.#-]+)\)")


def text(name: str, check: CataloguedCheck, width: int) -> str:
    """Return the page of the check class ``name``, folded to ``width`` columns."""
    other = f"See also {', '.join(f'docs/{one}' for one in check.pages)}." if check.pages else ""
    lines = [*_lines(name, check), other]
    return "\n".join(_folded(_LINK.sub(r"\1", line.lstrip("# ")), width) for line in lines).rstrip() + "\n"


def _lines(name: str, check: CataloguedCheck) -> list[str]:
    programs = f" It runs {_some(f'`{one}`' for one in check.programs)}." if check.programs else ""
    lines = [f"# {name}", "", _sentence(check.descr), "", f"{_sentence(check.runs)}{programs}", ""]
    sections = {
        "If it fails": _failure(check),
        "Metrics": _metrics(check),
        "Cases": _cases(check),
        "Needs": _needs(check),
        "A site may set": _tunables(check.tunables, check.defaults),
    }
    for title, section in sections.items():
        if found := [*section]:
            lines += [f"## {title}", "", *found, ""]
    return lines


def listing(checks: Mapping[str, CataloguedCheck], width: int) -> str:
    """Return a line or two for each check, folded to ``width`` columns, under the folder of its family."""
    column = max(map(len, checks), default=0) + 4
    lines: list[str] = []
    above = ""
    for name, check in sorted(checks.items(), key=lambda item: (item[1].family, item[0])):
        folder = check.family.partition("/")[0]
        lines += [] if folder == above else [*([""] if lines else []), folder]
        above = folder
        lines.append(textwrap.fill(f"  {name:<{column - 2}}{check.descr}", width, subsequent_indent=" " * column))
    return "\n".join(lines) + "\n"


def table(checks: Mapping[str, CataloguedCheck]) -> str:
    """Return a Markdown table of the checks, sorted by family."""
    rows = []
    for name, check in checks.items():
        metrics = (f"`{metric}` {unit}".strip() for metric, unit in check.metrics.items())
        needs = (f"`{feature}`" for feature in sorted(_always_needed(check) - _LAYOUTS))
        environ = (f"`{need}`" for need in sorted(check.needs_environ))
        cells = (check.descr, ", ".join(metrics), ", ".join(needs), ", ".join(environ), _duration(check))
        rows.append((check.family, name, (f"`{name}`", *cells)))
    return as_markdown([_HEADER, *(row for *_, row in sorted(rows))])


def as_markdown(rows: Iterable[tuple[str, ...]]) -> str:
    """Return ``rows`` as a Markdown table; the first row is the header."""
    header, *others = (tuple(cell.replace("|", r"\|") for cell in row) for row in rows)
    return "\n".join("| " + " | ".join(row) + " |" for row in (header, ("---",) * len(header), *others))


def _sentence(said: str) -> str:
    return said if said.endswith((".", "?")) else f"{said}."


def _failure(check: CataloguedCheck) -> Iterator[str]:
    yield check.failure_means
    if check.hint:
        yield from ("", f"Hint: {check.hint}")


def _metrics(check: CataloguedCheck) -> Iterator[str]:
    for name, unit in check.metrics.items():
        recorded = "recorded only" if name in check.informational else ""
        yield _item(f"`{name}`", unit or "no unit", _BETTER[worse_by_unit(unit)], recorded)
    bounded = [name for name in check.metrics if name not in check.informational]
    if bounded and not all(SIMULATED in case.features for case in check.cases):
        which = "Each" if len(bounded) == len(check.metrics) else "Each that is not only recorded"
        yield ""
        yield f"{which} needs a bound in the site's `references/{check.family.partition('/')[0]}.yaml`."


def _cases(check: CataloguedCheck) -> Iterator[str]:
    source = "as measured on the embedded cluster" if check.measured_s else "an estimate"
    yield f"- time of a case: {_duration(check)}, {source}"
    yield f"- modes: {', '.join(check.modes)}; family: `{check.family}`"
    if len(check.cases) > 1:
        yield f"- {len(check.cases)} cases, if the site has all of them"
    for parameter in check.parameters:
        yield f"- `{parameter}`: {_some(check.values_of(parameter))}"


def _duration(check: CataloguedCheck) -> str:
    return f"{check.measured_s:g} s" if check.measured_s else f"≈ {check.estimated_s:g} s"


def _always_needed(check: CataloguedCheck) -> set[str]:
    features = [set(case.features) for case in check.cases]
    return set.intersection(*features) if features else set()


def _needs(check: CataloguedCheck) -> Iterator[str]:
    always = _always_needed(check)
    meanings = {**PARTITION_FEATURES, **STORAGE_FEATURES}
    for feature in sorted(always):
        yield f"- of a partition, `{feature}`: {meanings[feature]}"
    if sometimes := sorted({feature for case in check.cases for feature in case.features} - always):
        yield f"- of a partition, for some cases: {_some(f'`{one}`' for one in sometimes)}"
    for need in check.needs_environ:
        choices = need.split("|")
        programs = "; or ".join(f"`{one}`: {ENVIRONMENT_FEATURES[one].programs}" for one in choices)
        yield f"- of an environment, {programs}"
    if check.on_fabrics:
        yield "- it runs on simulated partitions, too"


def _tunables(tunables: Mapping[str, Collection[str]], defaults: Mapping[str, Any]) -> Iterator[str]:
    for name, (kind, unit, meaning) in tunables.items():
        default = _shown(defaults[name])
        yield _item(f"`{name}`", kind, unit, f"default {default}" if default else "", "") + f": {meaning}"


def _shown(value: Any) -> str:
    """A default; empty for none."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return _some(map(str, value)) if isinstance(value, list) else str(value)


def _item(name: str, *about: str) -> str:
    return f"- {name}, {', '.join(filter(None, about))}"


def _some(values: Iterable[str]) -> str:
    found = list(values)
    more = len(found) - _MOST_VALUES
    return ", ".join([*found[:_MOST_VALUES], f"and {more} more"] if more > 1 else found)


def _folded(line: str, width: int) -> str:
    indent = "  " if line.startswith("- ") else ""
    return textwrap.fill(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
