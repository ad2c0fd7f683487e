"""Read a site's contract, ``acceptance.yaml``, and keep the binding one in a campaign.

After a measurement, only waivers, and the parties' agreements to changes, may change.
"""

import functools
import importlib
import operator
import pathlib
import pkgutil
from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta, defstruct
from msgspec.structs import asdict, replace

from kappa.core.ground.clean_text import clean
from kappa.core.ground.documents import SIZE_LIMIT, YamlFile, require_sound
from kappa.core.ground.errors import InputError, suggestion
from kappa.core.ground.whole_files import read_text, write_atomically
from kappa.core.sites.load import Site
from kappa.core.sites.site_file import SiteDescription
from kappa.core.vocabulary.modes import MODES
from reports.acceptance import kinds
from reports.acceptance.campaign.layout import CONTRACT, EARLIER_CONTRACT, REQUIREMENTS
from reports.acceptance.kinds.clause import Clause, Contract
from reports.acceptance.kinds.contract_head import ContractHead, Id, Text
from reports.acceptance.kinds.series import Series

FILE = "acceptance.yaml"
# Keys of a tender's contract in an earlier version.
_OF_TENDER = ("rules", "tender")


@functools.cache
def kinds_of_clauses() -> dict[str, type[Clause]]:
    """Return YAML key -> kind of clause, from the files of the package ``kinds``."""
    modules = [importlib.import_module(f"{kinds.__name__}.{one.name}") for one in pkgutil.iter_modules(kinds.__path__)]
    classes = {value for module in modules for value in vars(module).values() if isinstance(value, type)}
    clauses = [value for value in classes if issubclass(value, Clause)]
    # A class that several kinds share has its name as the tag.
    own = [clause for clause in clauses if clause.__struct_config__.tag != clause.__name__]
    return {str(clause.__struct_config__.tag): clause for clause in sorted(own, key=lambda one: one.__name__)}


@functools.cache
def _file_type() -> Any:
    """Return the type of the file, with a tagged union of all kinds of clauses."""
    clause = functools.reduce(operator.or_, kinds_of_clauses().values())
    clauses = Annotated[tuple[clause, ...], Meta(min_length=1, max_length=1000)]  # type: ignore[valid-type]
    fields = [("contract", ContractHead), ("clauses", clauses)]
    return defstruct("ContractFile", fields, frozen=True, forbid_unknown_fields=True)


def load_contract(path: pathlib.Path, site: SiteDescription | None = None) -> Contract:
    """Read a contract.

    :param site: the site that must have the names in the contract. Without it the names are not checked: a later suite
        must be able to read the copy in a campaign.
    :raises InputError: the contract is not valid; names the file, the line and the expected value.
    """
    file = YamlFile(path, aliases=False)
    _refuse_tender(file)
    _tag_clauses(file)
    content = file.fit(_file_type())
    contract = Contract(**asdict(content.contract), clauses=content.clauses)
    ids: set[str] = set()
    for number, clause in enumerate(contract.clauses):
        if clause.id in ids:
            raise file.error(("clauses", number, "id"), f"{clause.id}: expected each id once")
        ids.add(clause.id)
        for below, expectation in clause.misfits(contract):
            raise file.error(("clauses", number, *below), expectation)
    if site:
        file.require_known(("contract", "system"), contract.system, [site.name], "system of this site")
        if contract.mode is not None:
            file.require_known(("contract", "mode"), contract.mode, MODES, "mode")
        for number, clause in enumerate(contract.clauses):
            clause.check_names(file, ("clauses", number), site)
        require_sound([file])
    return contract


def _refuse_tender(file: YamlFile) -> None:
    head = file.value.get("contract") if isinstance(file.value, Mapping) else None
    for key in _OF_TENDER:
        if isinstance(head, Mapping) and key in head:
            raise file.error(
                ("contract", key),
                "this version has no keys of tenders: remove contract.rules and contract.tender, and keep the rest "
                "(docs/tender.md); verify a dossier with these keys with the version that wrote it",
            )


def _tag_clauses(file: YamlFile) -> None:
    """Add the tag of its kind to each clause.

    :raises InputError: a clause has the keys of several kinds, or the keys of none.
    """
    clauses = file.value.get("clauses") if isinstance(file.value, Mapping) else None
    keys = [key for key in kinds_of_clauses() if key != "series"]
    for number, clause in enumerate(clauses if isinstance(clauses, list) else ()):
        if not isinstance(clause, dict):
            continue
        if "kind" in clause:
            raise file.error(("clauses", number, "kind"), f"unknown key 'kind': {suggestion('kind', keys)}")
        given = [key for key in keys if key in clause]
        if len(given) > 1:
            raise file.error(("clauses", number), f"expected one of {', '.join(keys)}, found {', '.join(given)}")
        needed = [name for name in Series.__struct_encode_fields__ if name in _OF_SERIES and name not in clause]
        if not given and needed:
            raise file.error(("clauses", number), f"expected the key {needed[0]}, or one of {', '.join(keys)}")
        clause["kind"] = given[0] if given else "series"


# Keys that only a clause about a series has, and all of them.
_OF_SERIES = {*Series.__struct_encode_fields__} - {*Clause.__struct_encode_fields__}


def site_contract(site: Site) -> Contract | None:
    """Return the contract in the folder of a site; ``None`` without the file.

    :raises InputError: as ``load_contract``.
    """
    path = site.folder / FILE
    return load_contract(path, site.description) if path.exists() else None


def binding_contract(folder: pathlib.Path) -> Contract:
    return load_contract(folder / CONTRACT)


def earlier_contracts(folder: pathlib.Path) -> dict[str, Contract]:
    """Return the versions before the binding one, by name, the oldest first.

    :raises InputError: a version is not usable, or differs from the binding one in more than waivers.
    """
    matches = (EARLIER_CONTRACT.fullmatch(path.name) for path in folder.iterdir())
    numbers = sorted(int(match[1]) for match in matches if match)
    versions = {name: load_contract(folder / name) for name in (f"contract.{number}.yaml" for number in numbers)}
    if versions:
        binding = _as_begun(binding_contract(folder))
        for name, contract in versions.items():
            if _as_begun(contract) != binding:
                where = clean(str(folder / name))
                raise InputError(f"{where} differs from {CONTRACT} in more than waivers; restore its first content")
    return versions


def freeze(folder: pathlib.Path, contract: pathlib.Path) -> None:
    """Make ``contract`` the binding one of a campaign, and keep the earlier version.

    :raises InputError: it differs in more than waivers from the contract at the start of the run.
    """
    agreed, text = load_contract(contract), read_text(contract, SIZE_LIMIT)
    kept = folder / CONTRACT
    if not kept.exists():
        write_atomically(kept, text)
        return
    before = read_text(kept, SIZE_LIMIT)
    if before == text:
        return
    if _as_begun(binding_contract(folder)) != _as_begun(agreed):
        raise InputError(
            f"{clean(str(contract))} differs from the contract in {clean(str(folder))} in more than waivers; use a new "
            "folder: after the start only waivers may change"
        )
    earlier = [*earlier_contracts(folder)]
    # If an earlier call stopped between the two writes, this version is there already.
    if not earlier or read_text(folder / earlier[-1], SIZE_LIMIT) != before:
        last = int(earlier[-1].split(".")[1]) if earlier else 0
        write_atomically(folder / f"contract.{last + 1}.yaml", before)
    write_atomically(kept, text)


def _as_begun(contract: Contract) -> Contract:
    return replace(contract, clauses=tuple(clause.as_begun() for clause in contract.clauses))


def load_requirements(path: pathlib.Path) -> dict[str, str]:
    """Read a file of requirements, ``ID: text``.

    :raises InputError: the file is not valid; names the line.
    """
    return YamlFile(path, aliases=False).fit(dict[Id, Text])


def keep_requirements(folder: pathlib.Path, file: pathlib.Path) -> None:
    """Copy a file of requirements into a campaign.

    :raises InputError: the file is not valid; names the line.
    """
    load_requirements(file)
    write_atomically(folder / REQUIREMENTS, read_text(file, SIZE_LIMIT))


def kept_requirements(folder: pathlib.Path) -> dict[str, str]:
    """Return the requirements that a campaign keeps; empty without the file."""
    path = folder / REQUIREMENTS
    return load_requirements(path) if path.exists() else {}
