"""A reference file with new entries, as a unified diff that ``patch`` and Git apply. Nothing is written."""

import copy
import datetime
import decimal
import difflib
import glob
import io
import math
import pathlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from kappa.core.ground.bounded_file import read_text
from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.yaml_lines import SIZE_LIMIT
from reports.learn.limits import Limits
from reports.learn.samples import Place
from reports.learn.sight import Sight
from reports.verdict.sight import found

_STEP = decimal.Decimal("0.001")


@dataclass(frozen=True)
class Proposal:
    """One reference and where it comes from."""

    place: Place
    limits: Limits
    unit: str
    source: str
    samples: int
    method: str
    sight: Sight | None = None

    @property
    def finds(self) -> str:
        """What the bounds see, in words."""
        if self.sight is None:
            return "cannot say what slow-down it finds: its level is not above 0"
        return f"finds {found(self.sight.in_a_run, self.sight.in_a_week)} (with 95 %)"


def read_references(folder: pathlib.Path) -> dict[str, Any]:
    """The site's reference files by name, with their comments.

    :raises InputError: there is none, or one is no YAML mapping.
    """
    documents = {}
    for path in sorted(folder.glob("*.yaml")):
        try:
            documents[path.name] = _yaml().load(read_text(path, SIZE_LIMIT))
        except (OSError, UnicodeDecodeError, YAMLError) as err:
            raise InputError(f"cannot read {clean(str(path))}: {clean(str(err))}") from err
        if not isinstance(documents[path.name], dict):
            raise InputError(f"{clean(str(path))}: expected a mapping from check class to references")
    if not documents:
        raise InputError(f"{folder}: no reference files (*.yaml) in there")
    return documents


def diff(folder: pathlib.Path, proposals: Sequence[Proposal], today: datetime.date) -> str:
    """The change of all files in ``folder`` that the proposals make."""
    parts: list[str] = []
    for name in sorted({proposal.place.file for proposal in proposals}):
        path = folder / name
        old = read_text(path, SIZE_LIMIT)
        document = _yaml().load(old)
        for proposal in proposals:
            if proposal.place.file == name:
                _enter(document, proposal, today)
        parts += difflib.unified_diff(
            old.splitlines(keepends=True), _dump(document).splitlines(keepends=True), f"a/{path}", f"b/{path}"
        )
    return "".join(parts)


def _yaml() -> YAML:
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 4096
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.representer.add_representer(type(None), _null)
    return yaml


def _null(representer: Any, _: None) -> Any:
    """In full: ruamel's own empty scalar cannot stand in a list."""
    return representer.represent_scalar("tag:yaml.org,2002:null", "null")


def _dump(document: Any) -> str:
    text = io.StringIO()
    _yaml().dump(document, text)
    return text.getvalue()


def _enter(document: Any, proposal: Proposal, today: datetime.date) -> None:
    *path, metric = proposal.place.keys
    node = document
    for key in path:
        # What other checks share by an alias must not change with this one.
        node[key] = copy.deepcopy(node[key]) if key in node else CommentedMap()
        if node[key].anchor.value:
            node[key].yaml_set_anchor(None)
        node = node[key]
    node[metric] = _entry(proposal)
    source = CommentedMap(
        match=glob.escape(proposal.place.dotted),
        source=proposal.source,
        date=today,
        samples=proposal.samples,
        method=proposal.method,
    )
    if proposal.sight:
        source.update(finds_in_a_run=_share(proposal.sight.in_a_run), finds_in_a_week=_share(proposal.sight.in_a_week))
    sources = document.setdefault("$sources", CommentedSeq())
    old = [item for item in sources if item.get("match") == source["match"]]
    if old:
        # What a bound of before could see is not what this one can.
        for key in ("finds_in_a_run", "finds_in_a_week"):
            old[0].pop(key, None)
        old[0].update(source)
    else:
        sources.insert(0, source)


def _share(slow_down: float) -> float:
    """Rounded up, so that it is not more than what is found."""
    return math.ceil(slow_down * 1000) / 1000


def _entry(proposal: Proposal) -> CommentedSeq:
    limits = proposal.limits
    value = float(f"{limits.centre:.4g}")
    entry = CommentedSeq([value, _bound(limits.lower, value, -1), _bound(limits.upper, value, 1), _unit(proposal.unit)])
    entry.fa.set_flow_style()
    return entry


def _unit(unit: str) -> str:
    return unit or DoubleQuotedScalarString("")


def _bound(bound: float, value: float, outwards: int) -> float | None:
    """As ReFrame wants it: a fraction of the value, absolute when that is 0; rounded to ``outwards``, -1 or 1."""
    if not math.isfinite(bound):
        return None
    rounding = decimal.ROUND_FLOOR if outwards < 0 else decimal.ROUND_CEILING
    if value:
        exact = (decimal.Decimal(bound) - decimal.Decimal(value)) / abs(decimal.Decimal(value))
        written = exact.quantize(_STEP, rounding)
        # ReFrame computes the bound in binary, and may end a last digit short of it.
        if (value * (1 + math.copysign(1, value) * float(written)) - bound) * outwards < 0:
            written += outwards * _STEP
    else:
        written = decimal.Context(prec=4, rounding=rounding).create_decimal_from_float(bound)
    # Rounding may have taken the value past the bound, and ReFrame refuses one on the other side.
    return outwards * max(0.0, outwards * float(written)) or 0.0
