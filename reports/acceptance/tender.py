"""Write a tender pack: a contract without its commitments, the frozen inputs, and the form of a bid.

::

    contract.yaml        the contract, with the run rules; without thresholds, promises and predictions
    inputs.yaml          revision of the suite, default parameters, SHA-256 of each source
    bid.yaml             the form
    bid.html, bid.pdf    the same form, to print
    manifest.json        the SHA-256 of every file
"""

import hashlib
import pathlib
import re
import tempfile
from collections.abc import Mapping
from typing import Any

import msgspec
import yaml

from kappa.core.ground.clean_text import clean
from kappa.core.ground.documents import YamlFile, require_sound
from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import SUITE
from kappa.core.ground.whole_files import sync_folder, sync_tree, write_atomically
from kappa.core.sites.contract import Clause, Contract, load_contract
from kappa.core.sites.tender_terms import Commitment, commitment_of
from kappa.core.vocabulary.checks import catalogue, families, uncatalogued
from reports.acceptance.bid_form import form_of
from reports.acceptance.dossier_page import to_pdf
from reports.acceptance.signature import MANIFEST, files_below, manifest_of, sha256
from reports.acceptance.tender_page import bid_page

CONTRACT, INPUTS, FORM, PAGE, PRINTED = "contract.yaml", "inputs.yaml", "bid.yaml", "bid.html", "bid.pdf"
#: Folders of the suite whose sources a tender freezes.
FROZEN = ("reframe_checks", "emt_app", "spack_envs")


class FrozenInputs(msgspec.Struct, forbid_unknown_fields=True):
    """``parameters``: check -> the defaults of its tunables. ``files``: path in the suite -> SHA-256."""

    suite: str
    parameters: dict[str, dict[str, Any]]
    files: dict[str, str]


def folder_digests(files: Mapping[str, str]) -> dict[str, str]:
    """Return a SHA-256 for each frozen folder, over the lines of ``sha256sum``.

    :param files: path in the suite -> SHA-256, sorted.
    """
    found = {}
    for top in FROZEN:
        lines = [f"{digest}  {name}\n" for name, digest in files.items() if name.startswith(f"{top}/")]
        found[top] = hashlib.sha256("".join(lines).encode()).hexdigest()
    return found


def source_files() -> dict[str, str]:
    """Return the SHA-256 of each source of the frozen folders by its path in the suite, sorted.

    :raises OSError: a source is unreadable.
    """
    paths = [pathlib.PurePosixPath(top, name) for top in FROZEN for name in files_below(SUITE / top)]
    kept = [path for path in paths if not any(part.startswith(("__", ".", "build")) for part in path.parts[:-1])]
    return {str(path): sha256(SUITE / path) for path in sorted(kept)}


def write_pack(contract: pathlib.Path, target: pathlib.Path, suite: str, pdf: bool) -> list[str]:
    """Write the pack of ``contract`` to the new folder ``target``, complete or not at all.

    :param suite: the suite's revision.
    :return: ids of the clauses whose text has the number that the pack leaves out.
    :raises InputError: the contract is no basis of a tender (names the line), or the pack cannot be written.
    """
    file, agreed = YamlFile(contract, aliases=False), load_contract(contract)
    _require_tender(file, agreed)
    if target.exists():
        raise InputError(f"{clean(str(target))} exists; Kappa overwrites no pack; give another folder with -o")
    used = [name for clause in agreed.clauses for name in _checks_of(clause)]
    defaults = {name: catalogue()[name].defaults for name in sorted({*used}) if name in catalogue()}
    inputs = FrozenInputs(suite, {name: given for name, given in defaults.items() if given}, source_files())
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as part:
            folder = pathlib.Path(part, "pack")
            folder.mkdir(mode=0o700)
            write_atomically(folder / CONTRACT, dumped(_without_commitments(file.value)))
            write_atomically(folder / INPUTS, dumped(msgspec.to_builtins(inputs)))
            sums = stated_inputs(folder, inputs)
            write_atomically(folder / FORM, form_of(agreed, sums))
            page = bid_page(agreed, sums, suite)
            write_atomically(folder / PAGE, page)
            if pdf:
                to_pdf(page, folder / PRINTED)
            write_atomically(folder / MANIFEST, manifest_of(folder))
            sync_tree(folder)
            folder.rename(target)
            sync_folder(target.parent)
    except OSError as err:
        raise InputError(f"cannot write {clean(str(target))}: {err.strerror}") from err
    return _texts_with_commitments(file.value)


def dumped(document: Any) -> str:
    """Return plain data as YAML, with its keys in their order."""
    return str(yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=120))


def stated_inputs(pack: pathlib.Path, inputs: FrozenInputs) -> dict[str, str]:
    """Return the inputs that a bid has to state, each with its SHA-256."""
    return {**{name: sha256(pack / name) for name in (CONTRACT, INPUTS)}, **folder_digests(inputs.files)}


def suite_problem(contract: Contract) -> str:
    """Return the changes of this suite against the tender's frozen one that the parties did not agree to, as a text.

    The text is empty if there are none. A change is named as in ``contract.tender.agreed``: by its folder and the first
    16 digits of the folder's SHA-256.
    """
    if not contract.tender:
        return ""
    frozen, present = contract.tender.sources, folder_digests(source_files())
    changes = {f"{top} {present.get(top, 'missing')[:16]}" for top in frozen if present.get(top) != frozen[top]}
    found = sorted(changes - {one.change for one in contract.tender.agreed})
    if not found:
        return ""
    return clean(
        f"contract.tender.sources: expected the frozen suite, {contract.tender.suite}; found other sources: "
        f"{', '.join(found)}. Use the frozen suite, or let all parties agree to each change in contract.tender.agreed"
    )


def _texts_with_commitments(document: Mapping[str, Any]) -> list[str]:
    """Return the ids of the clauses whose text has the commitment's number."""
    found = []
    for clause in document["clauses"]:
        place = _place(clause)
        number = f"{clause[place.block][place.key] * place.factor:.12g}"
        if re.search(rf"(?<![\d.,]){re.escape(number)}(?!\d|[.,]\d)", clause["text"]):
            found.append(clause["id"])
    return found


def _require_tender(file: YamlFile, contract: Contract) -> None:
    """:raises InputError: a key is missing or must not be there; it has a line for each."""
    if not contract.rules:
        file.refuse(("contract",), "expected the key rules, with the run rules")
    if contract.tender:
        file.refuse(("contract", "tender"), "expected a contract before the bids, found an adopted one")
    for number, clause in enumerate(contract.clauses):
        if clause.waiver:
            file.refuse(("clauses", number, "waiver"), "expected no waiver in a tender")
        if wrong := wrong_sign(clause):
            file.refuse(("clauses", number, "threshold", "value"), wrong)
        if clause.selected:
            key = "check" if clause.selected.check else "family"
            known = [*catalogue(), *uncatalogued()] if key == "check" else families()
            file.require_known(("clauses", number, "selector", key), getattr(clause.selected, key), known, key)
    require_sound([file])


def wrong_sign(clause: Clause) -> str:
    """Return the problem with the sign of a series' threshold; empty if there is none, and for blocks.

    Every type of a block has its own range.
    """
    if clause.block or clause.threshold > 0 or (clause.threshold == 0 and clause.comparison == "at_most"):
        return ""
    return f"expected a figure {'above 0' if clause.comparison == 'at_least' else 'of 0 or more'}"


def _checks_of(clause: Clause) -> tuple[str, ...]:
    if not clause.selected:
        return ()
    return (clause.selected.check,) if clause.selected.check else families().get(clause.selected.family or "", ())


def _without_commitments(document: Mapping[str, Any]) -> dict[str, Any]:
    clauses = []
    for clause in document["clauses"]:
        place = _place(clause)
        left = {key: value for key, value in clause[place.block].items() if key != place.key}
        clauses.append({key: value for key, value in clause.items() if key != "predicted"} | {place.block: left})
    return {"contract": document["contract"], "clauses": clauses}


def _place(clause: Mapping[str, Any]) -> Commitment:
    found = commitment_of(clause)
    if not found:
        raise InputError(f"clause {clause['id']}: a bid cannot commit this kind of clause")
    return found
