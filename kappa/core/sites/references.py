"""Read and check a site's references: each belongs to a metric of the suite, and has a source.

A file ``references/FOLDER.yaml`` contains the references of the checks of that folder, in ReFrame's format for external
references, and the list ``$sources`` with their sources; ``docs/site-reference.md`` shows an example.
"""

import contextlib
import datetime
import fnmatch
import functools
import itertools
import math
import pathlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec

from kappa.core.ground.clean_text import clean
from kappa.core.ground.documents import Path, YamlFile, require_sound
from kappa.core.ground.errors import InputError, suggestion
from kappa.core.record.evidence import ReferenceSource
from kappa.core.sites.site_file import SiteDescription
from kappa.core.vocabulary.checks import CataloguedCheck, catalogue, families, uncatalogued
from kappa.core.vocabulary.keys import said

MAX_BYTES = 16 * 2**20
INDEX, SOURCES = "$index", "$sources"
# Of a file of references, which a record may name.
_FILE = re.compile(r"[a-z_]{1,40}\.yaml")
# ReFrame's name of a case: Class %parameter=value ….
_PARAMETER = re.compile(r"%(?:\w+\.)*(\w+)=(\S+)")


class Source(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True, omit_defaults=True):
    """The source of references."""

    match: Annotated[str, said("shell pattern for CLASS.INDEX….METRIC; the first match counts")]
    source: Annotated[Literal["contract", "vendor", "theoretical", "learned", "simulated"], said("kind of the source")]
    date: Annotated[str, said("date of the source, for instance 2026-01-31")]
    samples: Annotated[int, said("number of measured values; 0 without measurements")]
    method: Annotated[str, said("how the value was determined, in words")]
    finds_in_a_run: Annotated[
        Annotated[float, msgspec.Meta(ge=0)] | None,
        said(
            "[slow-down](power.md), as a share, that the bound finds in one run with a probability of 95 %; "
            "`kappa learn` writes it"
        ),
    ] = None
    finds_in_a_week: Annotated[
        Annotated[float, msgspec.Meta(ge=0)] | None,
        said("slow-down, as a share, that seven nights find with a probability of 95 %"),
    ] = None


@functools.cache
def read_sources(path: pathlib.Path) -> tuple[Source, ...]:
    """Return the ``$sources`` of a reference file.

    :raises InputError: they are not valid; names the file, the line, the key and the expected value.
    """
    file = YamlFile(path, MAX_BYTES)
    sources = _sources(file)
    require_sound([file])
    return sources


def source_of(sources: Iterable[Source], dotted: str) -> dict[str, Any] | None:
    """Return the first of ``sources`` that matches ``CLASS.INDEX….METRIC``, without its pattern, or ``None``."""
    for source in sources:
        if fnmatch.fnmatchcase(dotted, source.match):
            return {key: value for key, value in msgspec.to_builtins(source).items() if key != "match"}
    return None


@dataclass(frozen=True)
class CasePlace:
    """Where a case ran, and its name with its parameters: what the references of a check depend on."""

    site: str
    partition: str
    environ: str
    case: str

    @functools.cached_property
    def known(self) -> dict[str, str]:
        """The value of each key that ``$index`` may have."""
        special = {"$system": self.site, "$partition": f"{self.site}:{self.partition}", "$environ": self.environ}
        return {**special, **parameters_of(self.case)}


def parameters_of(case: str) -> dict[str, str]:
    """Return the parameters in a case's name."""
    return dict(_PARAMETER.findall(case))


def keys_of(entry: Any, place: CasePlace) -> tuple[str, ...] | None:
    """Return the keys in a check's ``entry`` that lead to the references of a case.

    A key without an entry is the value itself. Return ``None`` if the entry depends on something else.
    """
    index = entry.get(INDEX, []) if isinstance(entry, dict) else None
    if not isinstance(index, list) or not all(key in place.known for key in index):
        return None
    keys: list[str] = []
    for key in index:
        keys.append(_key_for(entry, place.known[key]))
        entry = entry.get(keys[-1], {}) if isinstance(entry, dict) else {}
    return tuple(keys)


def _key_for(entry: Any, value: str) -> str:
    """Return the key of ``entry`` for ``value``: the value itself, or a regular expression that matches it."""
    if isinstance(entry, dict) and value not in entry:
        for key in entry:
            with contextlib.suppress(re.error):
                if isinstance(key, str) and _matches(key, value):
                    return key
    return value


def _matches(key: str, value: str) -> bool:
    """As ReFrame 4.10 does: an alternative of the key without parentheses matches a part of the value, too."""
    return re.match(f"^{key}$", value) is not None


class SiteReferences:
    """The references of the site in ``folder``, which ``check_references`` has checked."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = folder

    @functools.cache  # noqa: B019 (as long as a verdict)
    def _document(self, name: str) -> Any:
        path = self._folder / "references" / name
        return YamlFile(path, MAX_BYTES).value if _FILE.fullmatch(name) and path.is_file() else {}

    def of(self, file: str, check: str, place: CasePlace) -> dict[str, tuple[list[Any], ReferenceSource | None]]:
        """Return metric -> ``[value, lower, upper, unit]`` of a case, with the source.

        :param file: the name of the reference file that the case recorded.
        :raises InputError: a reference is not one of these lists.
        """
        document = self._document(file)
        entry = document.get(check, {}) if isinstance(document, dict) else {}
        keys = keys_of(entry, place)
        if keys is None:
            return {}
        for key in keys:
            entry = entry.get(key, {}) if isinstance(entry, dict) else {}
        dotted = ".".join((check, *(place.known[key] for key in document[check].get(INDEX, ())))) if entry else check
        sources = read_sources(self._folder / "references" / file) if entry else ()
        found = {}
        for metric, reference in entry.items():
            if metric != INDEX:
                with_bounds = isinstance(reference, list) and len(reference) > 2
                if not with_bounds or not all(isinstance(one, int | float | None) for one in reference[:3]):
                    where = clean(f"{self._folder / 'references' / file}: {dotted}.{metric}")
                    raise InputError(f"{where}: expected [value, lower bound, upper bound, unit], found {reference!r}")
                found[metric] = reference, _recorded_source(sources, f"{dotted}.{metric}")
        return found


def _recorded_source(sources: Iterable[Source], dotted: str) -> ReferenceSource | None:
    found = source_of(sources, dotted)
    return msgspec.convert(found, ReferenceSource) if found else None


def check_references(site: SiteDescription) -> list[YamlFile]:
    """Return the site's reference files, each with its problems.

    :raises InputError: a file is not valid YAML.
    """
    files = []
    folders = {family.split("/")[0] for family in families()}
    for path in sorted([*site.folder.glob("references/*.yaml"), *site.folder.glob("references/*.yml")]):
        file = YamlFile(path, MAX_BYTES)
        files.append(file)
        if path.suffix != ".yaml" or path.stem not in folders:
            legal = [f"{folder}.yaml" for folder in folders]
            file.refuse((), f"no check reads a file with this name: {suggestion(path.name, legal)}")
            continue
        sources = _sources(file)
        if isinstance(file.value, Mapping):
            names: dict[str, Path] = {}
            for name in [name for name in file.value if name != SOURCES]:
                names |= _references(file, path.stem, name, site)
            _check_sources(file, sources, names)
    return files


def _sources(file: YamlFile) -> tuple[Source, ...]:
    if not isinstance(file.value, Mapping) or SOURCES not in file.value:
        file.refuse((), f"expected a mapping from check class to references, with a list {SOURCES}")
        return ()
    sources = file.decode(list[Source], file.value[SOURCES], (SOURCES,)) or []
    for number, source in enumerate(sources):
        try:
            datetime.date.fromisoformat(source.date)
        except ValueError:
            file.refuse((SOURCES, number, "date"), f"expected a date as YYYY-MM-DD, found {source.date!r}")
    return tuple(sources)


def _references(file: YamlFile, folder: str, name: str, site: SiteDescription) -> dict[str, Path]:
    """Return the dotted name of each reference of the class ``name``, with its path."""
    here: Path = (name,)
    if name in uncatalogued():
        # The check itself refuses unknown metrics.
        return dict(_all_leaves(file.value[name], here))
    ours = [known for known, check in catalogue().items() if check.family.startswith(f"{folder}/")]
    if not file.require_known(here, name, ours, f"check of {folder}"):
        return {}
    check, entry = catalogue()[name], file.value[name]
    for key in entry if isinstance(entry, Mapping) else ():
        if key.startswith("$"):
            file.require_known((*here, key), key, [INDEX], "key")
    index = entry.get(INDEX) if isinstance(entry, Mapping) else None
    if not isinstance(index, list) or not index:
        file.refuse(here, f"expected a mapping with {INDEX}, the list of parameters on which the references depend")
        return {}
    special = {
        "$system": [site.name],
        "$partition": [f"{site.name}:{partition}" for partition in site.described.partitions],
        "$environ": site.environment_names,
    }
    legal = [*special, *check.parameters]
    known = [file.require_known((*here, INDEX, at), key, legal, f"index of {name}") for at, key in enumerate(index)]
    if not all(known):
        return {}
    values = [special.get(key) or check.values_of(key) for key in index]
    below = {key: inner for key, inner in entry.items() if key != INDEX}
    return dict(_leaves(file, here, below, list(zip(index, values, strict=True)), check, name))


def _all_leaves(node: Any, here: Path) -> Iterator[tuple[str, Path]]:
    if isinstance(node, Mapping):
        for key, inner in node.items():
            if key != INDEX:
                yield from _all_leaves(inner, (*here, key))
    else:
        yield ".".join(map(str, here)), here


def _leaves(
    file: YamlFile, here: Path, node: Any, levels: Sequence[tuple[str, list[str]]], check: CataloguedCheck, dotted: str
) -> Iterator[tuple[str, Path]]:
    if not isinstance(node, Mapping):
        file.refuse(here, f"expected a mapping by {levels[0][0] if levels else 'metric'}, found {node!r}")
        return
    if not levels:
        for metric, reference in node.items():
            if file.require_known((*here, metric), metric, check.metrics, f"metric of {here[0]}"):
                _check_reference(file, (*here, metric), reference, check.metrics[metric])
                yield f"{dotted}.{metric}", (*here, metric)
        return
    (parameter, values), *deeper = levels
    patterns: dict[str, str] = {}
    for key, inner in node.items():
        at = (*here, key)
        for value in _matched(file, at, key, parameter, values):
            if value not in node and value in patterns:
                file.refuse(at, f"{patterns[value]!r} matches {value}, too: change one of them")
            elif value != key and value in node:
                file.refuse(at, f"{value} has its own entry: exclude it here")
            patterns[value] = key
            yield from _leaves(file, at, inner, deeper, check, f"{dotted}.{value}")


def _matched(file: YamlFile, at: Path, key: str, parameter: str, values: list[str]) -> list[str]:
    """Return the values of the parameter that a key matches, literally or as a regular expression."""
    if key in values:
        return [key]
    try:
        found = [value for value in values if _matches(key, value)]
        useless = next((word for word, pattern in _alternatives(key) if not _any_match(pattern, values)), None)
    except re.error as err:
        file.refuse(at, f"not a valid regular expression: {err}")
        return []
    if not found or useless:
        wrong = useless if found and useless else key
        file.refuse(at, f"unknown {parameter} {wrong!r}: {suggestion(wrong, values)}")
    return found


def _any_match(pattern: str, values: Iterable[str]) -> bool:
    return any(_matches(pattern, value) for value in values)


def _alternatives(pattern: str) -> Iterator[tuple[str, str]]:
    """Yield each alternative of each group, and the pattern with only this alternative.

    A negative lookahead becomes a positive one, to test whether the excluded value exists.
    """
    for group in re.finditer(r"\((\?[:=!])?([^()]*)\)", pattern):
        kind = "?=" if group[1] == "?!" else group[1] or ""
        for word in group[2].split("|"):
            yield word, f"{pattern[: group.start()]}({kind}{word}){pattern[group.end() :]}"


def _check_reference(file: YamlFile, at: Path, reference: Any, unit: str) -> None:
    if not isinstance(reference, list) or len(reference) != 4:
        file.refuse(at, f"expected [value, lower bound, upper bound, unit], found {reference!r}")
        return
    *numbers, stated = reference
    for number in numbers:
        right = isinstance(number, int | float) and not isinstance(number, bool) and math.isfinite(number)
        if not right and (number is not None or number is numbers[0]):
            file.refuse(at, f"expected a number, found {number!r}")
    if stated != unit:
        file.refuse(at, f"expected the unit {unit!r}, found {stated!r}")


def _check_sources(file: YamlFile, sources: Sequence[Source], names: Mapping[str, Path]) -> None:
    """Check that each reference has a source, each source a reference, and that patterns consist of whole words."""
    words = set(itertools.chain.from_iterable(_words(name) for name in names))
    left = dict(names)
    for number, source in enumerate(sources):
        at: Path = (SOURCES, number, "match")
        odd = next((word for word in _words(source.match) if word not in words), None)
        first = [name for name in left if fnmatch.fnmatchcase(name, source.match)]
        if odd:
            file.refuse(at, f"no reference here has {odd!r} in its name: {suggestion(odd, words)}")
        elif not first and any(fnmatch.fnmatchcase(name, source.match) for name in names):
            file.refuse(at, f"entries above match every reference that {source.match!r} matches: move it up")
        elif not first:
            file.refuse(at, f"{source.match!r} matches no reference: {suggestion(source.match, names)}")
        for name in first:
            del left[name]
    for name, path in left.items():
        file.refuse(path, f"no entry of {SOURCES} matches {name}")


def _words(name: str) -> list[str]:
    """Return the words in a dotted name or a pattern, and also the parts of a class's name."""
    found = re.findall(r"[A-Za-z0-9$:-]+", name)
    return [*found, *(part for word in found for part in re.findall(r"[A-Z]+[a-z]+", word) if part != word)]
