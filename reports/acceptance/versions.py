"""The versions of a campaign's contract: waivers may be given after measuring; nothing else may change.

``contract.yaml`` is the one that binds; ``contract.1.yaml``, ``contract.2.yaml``, … are those before it, in order.
"""

import pathlib
import re

from msgspec.structs import replace

from kappa.core.ground.bounded_file import read_text
from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.whole_files import write_atomically
from kappa.core.ground.yaml_lines import SIZE_LIMIT
from kappa.core.sites.contract import Contract, load_contract

CONTRACT = "contract.yaml"
_EARLIER = re.compile(r"contract\.([1-9][0-9]{0,8})\.yaml", re.ASCII)


def is_version(name: str) -> bool:
    """Whether a file of a campaign's folder is a version of its contract."""
    return name == CONTRACT or _EARLIER.fullmatch(name) is not None


def earlier_versions(folder: pathlib.Path) -> dict[str, Contract]:
    """The versions before the one that binds, by name, the oldest first.

    :raises InputError: one cannot be used, or differs from the binding one in more than waivers.
    """
    named = (_EARLIER.fullmatch(path.name) for path in folder.iterdir())
    numbers = sorted(int(match[1]) for match in named if match)
    names = [f"contract.{number}.yaml" for number in numbers]
    found = {name: load_contract(folder / name) for name in names}
    if found:
        binding = _without_waivers(load_contract(folder / CONTRACT))
        for name, contract in found.items():
            if _without_waivers(contract) != binding:
                raise InputError(f"{clean(str(folder / name))} differs from {CONTRACT} in more than waivers")
    return found


def keep_version(folder: pathlib.Path, contract: pathlib.Path) -> None:
    """Make ``contract`` the one that binds; the one that did is kept.

    :raises InputError: it differs in more than waivers from the one that ``folder`` was begun with.
    """
    agreed, text = load_contract(contract), read_text(contract, SIZE_LIMIT)
    kept = folder / CONTRACT
    if not kept.exists():
        write_atomically(kept, text)
        return
    before = read_text(kept, SIZE_LIMIT)
    if before == text:
        return
    if _without_waivers(load_contract(kept)) != _without_waivers(agreed):
        where = clean(str(folder))
        raise InputError(
            f"{where} was begun with another contract than {clean(str(contract))}, and only waivers may be given "
            "later; take a new folder"
        )
    earlier = [*earlier_versions(folder)]
    # It is there already when this was cut off between the two writings.
    if not earlier or read_text(folder / earlier[-1], SIZE_LIMIT) != before:
        last = int(earlier[-1].split(".")[1]) if earlier else 0
        write_atomically(folder / f"contract.{last + 1}.yaml", before)
    write_atomically(kept, text)


def _without_waivers(contract: Contract) -> Contract:
    return replace(contract, clauses=tuple(replace(clause, waiver=None) for clause in contract.clauses))
