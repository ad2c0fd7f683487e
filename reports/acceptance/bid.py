"""Adopt a bid: check it against its tender pack, and make its commitments the thresholds of the contract."""

import pathlib
import tempfile
from collections.abc import Mapping
from typing import Any

import msgspec

from kappa.core.ground.clean_text import clean
from kappa.core.ground.documents import MisfitError, Path, YamlFile, converted, require_sound
from kappa.core.ground.errors import suggestion
from kappa.core.ground.whole_files import write_atomically
from kappa.core.sites.contract import Clause, load_contract
from kappa.core.sites.tender_terms import RunRules, commitment_of
from reports.acceptance.bid_form import Bid, ClauseBid
from reports.acceptance.signature import MANIFEST, sha256
from reports.acceptance.signed_papers import require_intact
from reports.acceptance.tender import (
    CONTRACT,
    INPUTS,
    FrozenInputs,
    dumped,
    folder_digests,
    source_files,
    stated_inputs,
    wrong_sign,
)


class _PackedHead(msgspec.Struct):
    rules: RunRules


class _Packed(msgspec.Struct):
    contract: _PackedHead
    clauses: tuple[dict[str, Any], ...]


def adopt(pack: pathlib.Path, bid: pathlib.Path) -> str:
    """Return the contract as YAML: the pack's, with the commitments of ``bid`` as thresholds.

    :raises InputError: the pack was altered (names each file), or the bid is refused (a line for each reason).
    """
    require_intact(pack)
    inputs = YamlFile(pack / INPUTS, aliases=False).fit(FrozenInputs)
    packed = YamlFile(pack / CONTRACT, aliases=False)
    terms = packed.fit(_Packed)
    file = YamlFile(bid, aliases=False)
    found: Bid | None = file.decode(Bid)
    require_sound([file])
    assert found
    _check_inputs(file, found.inputs, stated_inputs(pack, inputs))
    for row, what in enumerate(found.bid.tuned):
        file.require_known(("bid", "tuned", row), what, terms.contract.rules.may_tune, "item of may_tune")
    clauses = _clauses(file, found.clauses, terms.clauses)
    require_sound([file])
    origin = {
        "bidder": found.bid.bidder,
        "date": str(found.bid.date),
        "pack": sha256(pack / MANIFEST),
        "bid": sha256(bid),
        "suite": inputs.suite,
        "sources": folder_digests(inputs.files),
        "tuned": list(found.bid.tuned),
    }
    text = dumped({"contract": {**packed.value["contract"], "tender": origin}, "clauses": clauses})
    with tempfile.TemporaryDirectory(prefix="kappa-tender-") as scratch:
        contract = pathlib.Path(scratch, CONTRACT)
        write_atomically(contract, text, lasting=False)
        load_contract(contract)
    return text


def changed_sources(pack: pathlib.Path) -> list[str]:
    """Return the sources of this suite that differ from the pack's, or that only one of the two has."""
    frozen, present = YamlFile(pack / INPUTS, aliases=False).fit(FrozenInputs).files, source_files()
    return sorted(clean(name) for name in {*frozen, *present} if frozen.get(name) != present.get(name))


def _check_inputs(file: YamlFile, stated: Mapping[str, str], frozen: Mapping[str, str]) -> None:
    for name, digest in stated.items():
        known = file.require_known(("inputs", name), name, frozen, "input of the pack")
        if known and digest != frozen[name]:
            file.refuse(("inputs", name), f"expected the SHA-256 of the pack's input, {frozen[name]}, found {digest}")
    for name in frozen:
        if name not in stated:
            file.refuse(("inputs",), f"expected the input {name} of the pack")


def _clauses(file: YamlFile, bids: tuple[ClauseBid, ...], terms: tuple[dict[str, Any], ...]) -> list[dict[str, Any]]:
    """Return the clauses of the contract; add a problem to ``file`` for each one that is wrong or left out."""
    rows: dict[str, int] = {}
    ids = [str(clause.get("id")) for clause in terms]
    for row, bid in enumerate(bids):
        here: Path = ("clauses", row, "clause")
        if bid.clause not in ids:
            file.refuse(here, f"unknown clause {bid.clause!r}: {suggestion(bid.clause, ids)}")
        elif bid.clause in rows:
            file.refuse(here, f"{bid.clause}: expected each clause once")
        rows.setdefault(bid.clause, row)
    for name in ids:
        if name not in rows:
            file.refuse(("clauses",), f"{name}: expected each clause of the contract, found no bid for it")
    known = [(clause, rows[name]) for clause, name in zip(terms, ids, strict=True) if name in rows]
    return [_committed(file, row, clause, bids[row]) for clause, row in known]


def _committed(file: YamlFile, row: int, clause: dict[str, Any], bid: ClauseBid) -> dict[str, Any]:
    """Return the clause with the bid's figures; add a problem to ``file`` if the clause does not allow them."""
    place, here = commitment_of(clause), ("clauses", row, "committed")
    if not place or not isinstance(clause[place.block], dict):
        file.refuse(here, f"{CONTRACT} of the pack has no block for a commitment")
        return clause
    block = {**clause[place.block], place.key: bid.committed.value / place.factor}
    made = {**clause, place.block: block, "predicted": msgspec.to_builtins(bid.evidence.predicted)}
    try:
        found = converted(made, Clause)
    except MisfitError as err:
        file.refuse((*here, "value"), str(err))
        return made
    if bid.committed.unit != found.unit:
        file.refuse((*here, "unit"), f"expected the unit {found.unit!r}, found {bid.committed.unit!r}")
    if wrong := wrong_sign(found):
        file.refuse((*here, "value"), f"{wrong}, found {bid.committed.value!r}")
    return made
