"""Derive the figures of a dossier again from its kept raw output, with the code of the checks, and compare them.

The suite's own checks read the output. Nothing that the dossier names is imported or started.
"""

import contextlib
import functools
import importlib
import math
import pathlib
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import structs

from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.errors import InputError
from kappa.core.ground.figures import counted
from kappa.core.record.evidence import Curve, HeatMap, Matrix
from kappa.core.record.metric import Metric, figures_of, metric_of
from kappa.core.record.model import Case
from kappa.core.vocabulary.checks import modules
from reports.acceptance.campaign.folder import Attempt, Campaign
from reports.acceptance.campaign.layout import ATTEMPTS
from reports.acceptance.campaign.measured import left_out
from reports.acceptance.campaign.seal import Proof
from reports.acceptance.campaign.signature import files_below
from reports.acceptance.contract import binding_contract
from reports.acceptance.dossier import verify

_STARTS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "socket.connect")
_PICTURES = {"curves": Curve, "heat_maps": HeatMap, "matrices": Matrix}
_EXACT = 1e-9
# How many times it is entered; a hook of Python cannot be removed.
_offline: list[None] = []


class NotComparableError(InputError):
    """The raw output of a case cannot be read again; says why."""


def prove(dossier: pathlib.Path, keys: Sequence[str] = ()) -> Proof:
    """Verify a dossier, and compare its figures with its raw output.

    :raises InputError: as ``verify``.
    """
    proof = verify(dossier, keys)
    campaign = Campaign(dossier.resolve())
    try:
        attempts = campaign.attempts()
    except InputError:
        if not proof.problems:
            raise
        return proof
    compared = 0
    for attempt in attempts:
        for case in attempt.cases:
            # As in the verdict, a case that failed earlier has no figures.
            counts = case.result in ("pass", "xpass") or case.fail_phase == "performance"
            if not counts or not (case.metrics or case.per_node):
                continue
            where = f"{ATTEMPTS}/{attempt.folder.name}, {case.check_class or case.name}"
            try:
                folder = _folder_of(campaign, attempt, case)
                proof.problems.extend(clean(f"{where}: {line}") for line in differences(case, folder))
                compared += 1
            except InputError as err:
                proof.unchecked.append(clean(f"{where}: its figures cannot be compared with its raw output: {err}"))
    proof.unchecked.extend(
        f"{clause.id}: {clause.not_reread}" for clause in binding_contract(campaign.folder).clauses if clause.not_reread
    )
    if compared:
        proof.good.append(f"{counted(compared, 'case')} read again: the record was compared with the raw output")
    return proof


def differences(case: Case, folder: pathlib.Path) -> Iterator[str]:
    """Yield the figures of a case that its output in ``folder`` does not give, with both values.

    :raises NotComparableError: the output cannot be read again.
    """
    check = _read_again(case, folder)
    again = [metric_of(name, figure) for name, figure in figures_of(check.perfvalues).items()]
    yield from _compared(_figures(case.metrics), _figures(again))
    yield from _compared(
        {
            f"{metric} of {node}": (value, one.unit)
            for metric, one in case.per_node.items()
            for node, value in one.values.items()
        },
        {
            f"{metric} of {clean(node)}": (value, one["unit"])
            for metric, one in check.per_node.items()
            for node, value in one["values"].items()
        },
    )
    for name, kind in _PICTURES.items():
        pictures = msgspec.convert(getattr(check, name), dict[str, kind])  # type: ignore[valid-type]
        if _comparable(getattr(case, name)) != _comparable(pictures):
            yield f"{name.replace('_', ' ')} of the record differ from those of the raw output"


def _figures(metrics: Iterable[Metric]) -> dict[str, tuple[Any, str]]:
    return {metric.name: (metric.raw or metric.value, metric.unit) for metric in metrics}


def _comparable(pictures: Mapping[str, Any]) -> dict[str, Any]:
    """Return the pictures without the hashes of files, which depend on the library that compressed them."""
    return {
        name: structs.replace(one, file=structs.replace(one.file, name="", sha256=""))
        if getattr(one, "file", None)
        else one
        for name, one in pictures.items()
    }


def _compared(record: Mapping[str, tuple[Any, str]], again: Mapping[str, tuple[Any, str]]) -> Iterator[str]:
    for metric in sorted({**record, **again}):
        before, now = record.get(metric), again.get(metric)
        if before is None or now is None or before[1] != now[1] or not _same(before[0], now[0]):
            yield f"{metric}: the record has {_shown(before)}, the raw output gives {_shown(now)}"


def _same(one: object, other: object) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=_EXACT)
    return one == other


def _shown(figure: tuple[Any, str] | None) -> str:
    return "no such figure" if figure is None else one_line(" ".join(map(str, figure)).rstrip(), 60)


def _read_again(case: Case, folder: pathlib.Path) -> Any:
    """Return the check after it has read the kept output.

    :raises NotComparableError: it cannot.
    """
    module = modules().get(case.check_class or "")
    if module is None:
        raise NotComparableError("this version of the suite has no such check")
    # ReFrame takes a second to load, and has no types.
    kept_state = importlib.import_module("reframe_checks.base.kept_state")
    if not (folder / kept_state.STATE).exists():
        raise NotComparableError(f"the check kept no {kept_state.STATE}; an earlier version of the suite measured it")
    check = getattr(importlib.import_module(module), str(case.check_class))
    try:
        with _nothing_starts():
            return kept_state.measured_again(check, case, folder)
    except Exception as err:  # The files may be forged: any error of a parser means the same.
        raise NotComparableError(one_line(clean(f"{type(err).__name__}: {err}"), 300)) from err


def _folder_of(campaign: Campaign, attempt: Attempt, case: Case) -> pathlib.Path:
    """Return the folder of the case's output in this copy of the attempt.

    :raises NotComparableError: it is not there, is not complete, or has links.
    """
    _, inside, tail = (case.folder or "").rpartition(f"/{ATTEMPTS}/{attempt.folder.name}/")
    folder = attempt.folder / tail
    if not inside or not folder.is_dir() or not folder.resolve().is_relative_to(attempt.folder):
        raise NotComparableError("its raw output is not in the folder of the attempt")
    if any((folder / name).is_symlink() or not (folder / name).is_file() for name in files_below(folder)):
        raise NotComparableError("its raw output has links, pipes or devices")
    missing = [file.path for file in left_out(campaign.folder) if (campaign.folder / file.path).is_relative_to(folder)]
    if missing:
        raise NotComparableError(f"too large for the dossier: {', '.join(missing)}")
    return folder


@contextlib.contextmanager
def _nothing_starts() -> Iterator[None]:
    """Refuse to start a program or to open a connection."""
    _watch_starts()
    _offline.append(None)
    try:
        yield
    finally:
        _offline.pop()


@functools.cache
def _watch_starts() -> None:
    sys.addaudithook(_refuse)


def _refuse(event: str, _: object) -> None:
    if _offline and event in _STARTS:
        raise PermissionError("a check wanted to start a program or to open a connection")
