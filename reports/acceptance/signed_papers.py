"""Sign a tender pack or a contract before anything is measured, and check the signatures."""

import pathlib
import shutil
from collections.abc import Sequence

from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.whole_files import make_folder, write_atomically
from kappa.core.sites.contract import load_contract
from reports.acceptance.dossier import Proof
from reports.acceptance.signature import MANIFEST, SignatureState, check, differences, manifest_of, sha256, sign


def require_intact(folder: pathlib.Path) -> None:
    """Compare the folder with its manifest and its signatures.

    :raises InputError: a file was altered, removed or added, or a signature is bad; it has a line for each.
    """
    found = verify_paper(folder, []).problems
    if found:
        raise InputError("\n".join(f"{clean(str(folder))}: {line}" for line in found))


def sign_paper(path: pathlib.Path, how: str, party: str) -> pathlib.Path:
    """Sign a pack, or a contract by a copy in the folder ``CONTRACT.signed``. Return the signature's path.

    :param how: see ``signature.sign``.
    :raises InputError: the paper is not the one that another party signed, or it cannot be signed.
    """
    folder = _folder_of(path)
    if not path.is_dir() and not (folder / MANIFEST).exists():
        load_contract(path)
        make_folder(folder)
        shutil.copyfile(path, folder / path.name)
        write_atomically(folder / MANIFEST, manifest_of(folder))
    problems = verify_paper(path, []).problems
    if problems:
        raise InputError(f"{clean(str(path))}: not signed: {problems[0]}")
    return folder / sign(folder, how, party)


def verify_paper(path: pathlib.Path, keys: Sequence[str]) -> Proof:
    """Check a pack, or a contract with its signed copy.

    :param keys: the keys of all who must have signed; see ``signature.check``.
    :raises InputError: there is no manifest.
    """
    folder = _folder_of(path)
    if not (folder / MANIFEST).exists():
        raise InputError(f"{clean(str(path))}: expected a tender pack, or a contract that `kappa tender sign` signed")
    proof = Proof(differences(folder), [], [])
    if not path.is_dir() and not proof.problems and sha256(path) != sha256(folder / path.name):
        proof.problems.append(f"{clean(str(path))} differs from the signed copy in {clean(str(folder))}")
    lists = {SignatureState.BAD: proof.problems, SignatureState.GOOD: proof.good}
    for signature in check(folder, keys):
        lists.get(signature.check, proof.unchecked).append(signature.words)
    return proof


def _folder_of(path: pathlib.Path) -> pathlib.Path:
    return path if path.is_dir() else path.with_name(f"{path.name}.signed")
