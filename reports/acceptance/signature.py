"""Detached signatures on a dossier's manifest, one for each party, made and checked by GnuPG or minisign."""

import base64
import binascii
import pathlib
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from kappa.core.ground.bounded_file import read_text
from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.errors import InputError
from kappa.core.ground.whole_files import write_atomically
from reports.acceptance.manifest import MANIFEST, files_below, is_signature

_SIZE_LIMIT = 1 << 16
_FINGERPRINT = re.compile(r"[0-9A-F]{40}|[0-9A-F]{64}")


class Check(Enum):
    GOOD, BAD, NOT_CHECKED, NONE = range(4)


@dataclass(frozen=True)
class Signature:
    """``keys``: those of who had to sign that this one is good by."""

    check: Check
    words: str
    keys: frozenset[str] = frozenset()


def sign(folder: pathlib.Path, how: str, party: str = "") -> str:
    """Sign the manifest in ``folder``; returns the name of the file, which has that of ``party`` in it.

    :param how: gpg, gpg:KEY or minisign:SECRET_KEY_FILE.
    :raises InputError: there is such a signature, or the program is not there or does not sign; with what it said.
    """
    program, _, key = how.partition(":")
    kind = {"gpg": "asc", "minisign": "minisig" if key else None}.get(program)
    if kind is None:
        raise InputError(f"{clean(how)}: expected gpg, gpg:KEY or minisign:SECRET_KEY_FILE")
    name = ".".join(part for part in (MANIFEST, party, kind) if part)
    if not is_signature(name):
        raise InputError(f"{clean(party)}: expected at most 40 letters, digits, '_' and '-'")
    if (folder / name).exists():
        raise InputError(f"{clean(str(folder / name))} exists; say who else signs with --party")
    with tempfile.TemporaryDirectory() as scratch:
        output = pathlib.Path(scratch, name)
        if program == "gpg":
            user = [f"--local-user={key}"] if key else []
            command = ["gpg", "--batch", "--armor", *user, f"--output={output}", "--detach-sign"]
        else:
            command = ["minisign", "-S", "-s", key, "-x", str(output), "-m"]
        done = _run([*command, str(folder / MANIFEST)])
        if done.returncode:
            raise InputError(f"{program} did not sign: {one_line(clean(done.stderr or done.stdout), 300)}")
        write_atomically(folder / name, read_text(output, _SIZE_LIMIT))
    return name


def check(folder: pathlib.Path, keys: Sequence[str]) -> list[Signature]:
    """Every signature of the dossier, and every one that it lacks.

    :param keys: of all who must have signed: fingerprints of GnuPG's, files of minisign's public keys. GnuPG also takes
        whom the keyring has; minisign's signatures by no key that is named are not checked.
    :raises InputError: a key is neither.
    """
    fingerprints = {key: key.replace(" ", "").upper() for key in keys}
    by_gnupg = {key: plain for key, plain in fingerprints.items() if _FINGERPRINT.fullmatch(plain)}
    by_minisign = [key for key in keys if key not in by_gnupg]
    for key in by_minisign:
        if not pathlib.Path(key).is_file():
            raise InputError(f"--key {clean(key)}: expected a GnuPG fingerprint or the file of minisign's public key")
    found = []
    for name in filter(is_signature, files_below(folder)):
        status = (folder / name).lstat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > _SIZE_LIMIT:
            found.append(Signature(Check.BAD, f"{name}: no file of a signature"))
        elif name.endswith(".asc"):
            found.append(_check_gnupg(folder, name, by_gnupg))
        else:
            found.append(_check_minisign(folder, name, by_minisign))
    signed = {key for signature in found if signature.check is Check.GOOD for key in signature.keys}
    lacking = [Signature(Check.BAD, f"not signed by {clean(key)}") for key in keys if key not in signed]
    return [*found, *lacking] or [Signature(Check.NONE, "the dossier is not signed")]


def _check_gnupg(folder: pathlib.Path, name: str, fingerprints: dict[str, str]) -> Signature:
    if not shutil.which("gpg"):
        return Signature(Check.NOT_CHECKED, f"{name}: not checked, GnuPG is not provided here")
    done = _run(["gpg", "--batch", "--status-fd=1", "--verify", str(folder / name), str(folder / MANIFEST)])
    said = dict(re.findall(r"^\[GNUPG:\] (\w+) ?(.*)$", done.stdout, re.MULTILINE))
    if "NO_PUBKEY" in said:
        return Signature(Check.NOT_CHECKED, f"{name}: not checked, the keyring has not the key {said['NO_PUBKEY']}")
    if done.returncode or "GOODSIG" not in said or "VALIDSIG" not in said:
        return Signature(Check.BAD, f"{name}: {one_line(clean(done.stderr), 200)}")
    # The last is the fingerprint of the primary key, the first that of the key that signed.
    signers = {said["VALIDSIG"].split()[0], said["VALIDSIG"].split()[-1]}
    who = one_line(clean(said["GOODSIG"].partition(" ")[2]), 80)
    return Signature(
        Check.GOOD,
        f"{name}: good signature of {who}, key {' / '.join(sorted(signers))}",
        frozenset(key for key, fingerprint in fingerprints.items() if fingerprint in signers),
    )


def _check_minisign(folder: pathlib.Path, name: str, keys: list[str]) -> Signature:
    if not shutil.which("minisign"):
        return Signature(Check.NOT_CHECKED, f"{name}: not checked, minisign is not provided here")
    signer = _minisign_key_id(folder / name)
    matching = [key for key in keys if signer and _minisign_key_id(pathlib.Path(key)) == signer]
    if signer and not matching:
        words = "not checked, name the file of its public key with --key"
        return Signature(Check.NOT_CHECKED, f"{name}: by the key {signer}, {words}")
    words = "no signature of minisign's"
    for key in matching:
        done = _run(["minisign", "-V", "-p", key, "-m", str(folder / MANIFEST), "-x", str(folder / name)])
        words = one_line(clean(done.stderr if done.returncode else done.stdout), 200)
        if not done.returncode:
            return Signature(Check.GOOD, f"{name}: {words}", frozenset(matching))
    return Signature(Check.BAD, f"{name}: {words}")


def _minisign_key_id(path: pathlib.Path) -> str:
    """As minisign prints it; of a signature or a public key, whose second lines begin alike. Empty when it is none."""
    try:
        lines = read_text(path, _SIZE_LIMIT).splitlines()
        return base64.b64decode(lines[1], validate=True)[2:10][::-1].hex().upper()
    except (OSError, UnicodeDecodeError, IndexError, binascii.Error):
        return ""


def _run(command: list[str]) -> "subprocess.CompletedProcess[str]":
    try:
        # Standard input stays: minisign asks for the password of the key.
        return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    except FileNotFoundError as err:
        raise InputError(f"{command[0]} is not provided here; install it, or go without a signature") from err
