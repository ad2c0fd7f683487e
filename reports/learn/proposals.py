"""Propose references from past runs, with the slow-downs that their bounds find, as a unified diff.

``patch`` and Git apply the diff. This module writes no file.
"""

import copy
import datetime
import decimal
import difflib
import glob
import io
import math
import pathlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError
from ruamel.yaml.scalarstring import DoubleQuotedScalarString
from scipy import optimize

from kappa.core.ground.clean_text import clean
from kappa.core.ground.documents import SIZE_LIMIT, YamlFile
from kappa.core.ground.errors import InputError
from kappa.core.ground.whole_files import read_text
from reports.history.adding_up import ALLOWANCE, LEAST_EARLIER, NIGHTS, SHARE, scores, sum_limit
from reports.history.robust_statistics import Array
from reports.learn.limits import Healthy, Limits, RefusedError, healthy, learn_limits
from reports.learn.samples import ReferencePath, ReferenceSample
from reports.verdict.bounds import slow_downs_in_words

FOUND = 0.95
_QUANTILE_OF_FOUND = 1.645
# No fault that leaves a program running makes it slower than this.
_MOST = 1e3
_STEP = decimal.Decimal("0.001")


@dataclass(frozen=True)
class Sensitivity:
    """Hold slow-downs as shares of the healthy value: 0.1 is a rate of 0.9 or a time of 1.1 times the healthy one."""

    in_a_run: float
    in_a_week: float


def sensitivity_of(
    sample: Healthy, limits: Limits, false_alarms: float, a_series: float, a_night: float
) -> Sensitivity | None:
    """Return the slow-downs that ``limits`` of ``sample`` find on the weaker side.

    Over a week, values that add up count, too (``adding_up``). Return ``None`` unless the level is above 0.

    :param false_alarms: the rate of false positives at which a night judges a series.
    :param a_series: the number of values of one set of nodes.
    :param a_night: the number of values of one set of nodes in a night.
    """
    sides = [side for side, bound in ((-1, limits.lower), (1, limits.upper)) if math.isfinite(bound)]
    if not sides or limits.centre <= 0 or sample.as_measured.min() <= 0:
        return None
    runs = [_in_a_run(sample.as_measured, side, limits) for side in sides]
    weeks = [_in_a_week(sample.values, side, false_alarms / len(sides), int(a_series), a_night) for side in sides]
    return Sensitivity(max(runs), max(map(min, runs, weeks)))


def _in_a_run(values: Array, side: int, limits: Limits) -> float:
    """Return the slow-down that puts 95 % of healthy values out of bounds.

    A new value is beyond the k-th of n with probability k / (n + 1), for any distribution (Wilks 1941).
    """
    ordered = np.sort(values)[::side]
    best = float(ordered[max(math.floor((1 - FOUND) * (len(values) + 1)) - 1, 0)])
    return limits.upper / best - 1 if side > 0 else 1 - limits.lower / best


def _in_a_week(values: Array, side: int, false_alarms: float, earlier: int, repeats: float) -> float:
    """Return the slow-down that adds up in a week of nights, from the scores of the sample's own values."""
    if earlier < LEAST_EARLIER:
        return math.inf
    limit = sum_limit(earlier, false_alarms * SHARE / repeats)
    number = NIGHTS * repeats

    def margin(slow_down: float) -> float:
        worse = scores(values * (1 + side * slow_down), values) * side - ALLOWANCE
        # The earlier level comes from so many values, which vary, too.
        wandering = math.sqrt(number * float(worse.var()) + number**2 / earlier)
        return number * float(worse.mean()) - limit - _QUANTILE_OF_FOUND * wandering

    most = 1.0 if side < 0 else _MOST
    return float(optimize.brentq(margin, 0.0, most, xtol=1e-5)) if margin(most) > 0 else math.inf


@dataclass(frozen=True)
class Proposal:
    """Hold a proposed reference and its source."""

    place: ReferencePath
    limits: Limits
    unit: str
    source: str
    samples: int
    method: str
    sight: Sensitivity | None = None

    @property
    def finds(self) -> str:
        """Return the slow-downs that the bounds find, in words."""
        if self.sight is None:
            return "finds an unknown slow-down, because its level is not above 0"
        return f"finds {slow_downs_in_words(self.sight.in_a_run, self.sight.in_a_week)} (with 95 % probability)"


def read_references(folder: pathlib.Path) -> dict[str, Any]:
    """Return the site's reference files by name, with their comments.

    :raises InputError: there is no file, or a file is no YAML mapping.
    """
    documents = {}
    for path in sorted(folder.glob("*.yaml")):
        # YamlFile refuses hostile and ambiguous content; only ruamel.yaml keeps the comments.
        mapping = isinstance(YamlFile(path).value, dict)
        try:
            documents[path.name] = _yaml().load(read_text(path, SIZE_LIMIT))
        except (OSError, UnicodeDecodeError, YAMLError) as err:
            raise InputError(f"cannot read {clean(str(path))}: {clean(str(err))}") from err
        if not mapping:
            raise InputError(f"{clean(str(path))}: expected a mapping from check class to references")
    if not documents:
        raise InputError(f"{folder}: no reference files (*.yaml) in this folder; add one, for instance network.yaml")
    return documents


def diff(folder: pathlib.Path, proposals: Sequence[Proposal], today: datetime.date) -> str:
    """Return the unified diff of all files in ``folder`` that the proposals change."""
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
    """Write ``null`` in full, because ruamel's empty scalar is not possible in a list."""
    return representer.represent_scalar("tag:yaml.org,2002:null", "null")


def _dump(document: Any) -> str:
    text = io.StringIO()
    _yaml().dump(document, text)
    return text.getvalue()


def _enter(document: Any, proposal: Proposal, today: datetime.date) -> None:
    *path, metric = proposal.place.keys
    node = document
    for key in path:
        # Other checks may share these references by an alias; they must not change.
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
        # The slow-downs of the old bound are wrong for the new one.
        for key in ("finds_in_a_run", "finds_in_a_week"):
            old[0].pop(key, None)
        old[0].update(source)
    else:
        sources.insert(0, source)


def _share(slow_down: float) -> float:
    """Round up, so that the stated slow-down is surely found."""
    return math.ceil(slow_down * 1000) / 1000


def _entry(proposal: Proposal) -> CommentedSeq:
    limits = proposal.limits
    value = float(f"{limits.centre:.4g}")
    unit = proposal.unit or DoubleQuotedScalarString("")
    entry = CommentedSeq([value, _bound(limits.lower, value, -1), _bound(limits.upper, value, 1), unit])
    entry.fa.set_flow_style()
    return entry


def _bound(bound: float, value: float, outwards: int) -> float | None:
    """Return the bound for ReFrame: a fraction of the value, or absolute if that is 0.

    Round it in the direction ``outwards``, -1 or 1.
    """
    if not math.isfinite(bound):
        return None
    rounding = decimal.ROUND_FLOOR if outwards < 0 else decimal.ROUND_CEILING
    if value:
        exact = (decimal.Decimal(bound) - decimal.Decimal(value)) / abs(decimal.Decimal(value))
        written = exact.quantize(_STEP, rounding)
        # ReFrame computes the bound in binary and may miss it in the last digit.
        if (value * (1 + math.copysign(1, value) * float(written)) - bound) * outwards < 0:
            written += outwards * _STEP
    else:
        written = decimal.Context(prec=4, rounding=rounding).create_decimal_from_float(bound)
    # Rounding may move the value past the bound, and ReFrame refuses a bound on the wrong side.
    return outwards * max(0.0, outwards * float(written)) or 0.0


def proposals(
    found: Iterable[ReferenceSample], false_alarms: float, of_nights: float
) -> tuple[list[Proposal], list[str]]:
    """Return the proposals for ``found``, and the reasons for the samples without a proposal.

    :param of_nights: the rate of false positives at which a night judges a series of the site.
    """
    proposed, refused, informational = [], [], 0
    for one in found:
        if one.informational:
            informational += 1
            continue
        try:
            sample = healthy(one.values, one.times)
            limits = learn_limits(sample, one.sign, false_alarms)
        except RefusedError as err:
            refused.append(f"no reference for {one.place.dotted}: {err}")
            continue
        samples = len(sample.values)
        pattern = f"; bounds hold for every {sample.pattern.period}" if sample.pattern else ""
        method = (
            f"median of {samples} values, {one.window}; bounds that a healthy value crosses with probability "
            f"{false_alarms:g} (tails from the sample), outside all measured values{pattern}; "
            f"{len(one.values) - samples} outliers left out; no failed node check, no transient"
        )
        seen = sensitivity_of(sample, limits, of_nights, one.a_series, one.a_night)
        proposed.append(Proposal(one.place, limits, one.unit, "learned", samples, method, seen))
    if informational:
        refused.insert(0, f"{informational} informational metrics left out, because a reference would make them fail")
    return proposed, refused
