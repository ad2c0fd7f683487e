"""A detached signature on a dossier's manifest, made and checked by GnuPG or minisign."""

import pathlib
import re
import shutil
import subprocess
from dataclasses import dataclass
from enum import Enum

from reports.acceptance.manifest import MANIFEST, SIGNATURES
from reports.errors import InputError
from reports.untrusted import clean, one_line

_GNUPG, _MINISIGN = SIGNATURES


class Check(Enum):
    GOOD, BAD, NOT_CHECKED, NONE = range(4)


@dataclass(frozen=True)
class Signature:
    check: Check
    words: str


def sign(folder: pathlib.Path, how: str) -> None:
    """Sign the manifest in ``folder``; ``how`` is gpg, gpg:KEY or minisign:SECRET_KEY_FILE.

    :raises InputError: the program is not there or does not sign; with what it said.
    """
    program, _, key = how.partition(":")
    match program, key:
        case "gpg", _:
            user = [f"--local-user={key}"] if key else []
            output = f"--output={folder / _GNUPG}"
            command = ["gpg", "--batch", "--yes", "--armor", *user, output, "--detach-sign", str(folder / MANIFEST)]
        case "minisign", key if key:
            command = ["minisign", "-S", "-s", key, "-m", str(folder / MANIFEST), "-x", str(folder / _MINISIGN)]
        case _:
            raise InputError(f"--sign {clean(how)}: expected gpg, gpg:KEY or minisign:SECRET_KEY_FILE")
    done = _run(command)
    if done.returncode:
        raise InputError(f"{program} did not sign: {one_line(clean(done.stderr or done.stdout), 300)}")


def check(folder: pathlib.Path, key: str | None) -> list[Signature]:
    """Every signature of the dossier.

    :param key: who must have signed: a fingerprint of GnuPG's, or the file of minisign's public key. Without, GnuPG's
        keyring decides, and minisign's signature is not checked.
    """
    found = []
    if (folder / _GNUPG).exists():
        found.append(_check_gnupg(folder, key))
    if (folder / _MINISIGN).exists():
        found.append(_check_minisign(folder, key))
    return found or [Signature(Check.BAD if key else Check.NONE, "the dossier is not signed")]


def _check_gnupg(folder: pathlib.Path, key: str | None) -> Signature:
    if not shutil.which("gpg"):
        return Signature(Check.NOT_CHECKED, f"{_GNUPG}: not checked, GnuPG is not provided here")
    done = _run(["gpg", "--batch", "--status-fd=1", "--verify", str(folder / _GNUPG), str(folder / MANIFEST)])
    status = re.findall(r"^\[GNUPG:\] (\w+) ?(.*)$", done.stdout, re.MULTILINE)
    said = dict(status)
    if "NO_PUBKEY" in said:
        return Signature(Check.NOT_CHECKED, f"{_GNUPG}: not checked, the keyring has not the key {said['NO_PUBKEY']}")
    if done.returncode or "GOODSIG" not in said or "VALIDSIG" not in said:
        return Signature(Check.BAD, f"{_GNUPG}: {one_line(clean(done.stderr), 200)}")
    # The last is the fingerprint of the primary key, the first that of the key that signed.
    fingerprints = {said["VALIDSIG"].split()[0], said["VALIDSIG"].split()[-1]}
    if key and key.replace(" ", "").upper() not in fingerprints:
        return Signature(Check.BAD, f"{_GNUPG}: signed by {min(fingerprints)}, not by {clean(key)}")
    name = one_line(clean(said["GOODSIG"].partition(" ")[2]), 80)
    return Signature(Check.GOOD, f"{_GNUPG}: good signature of {name}, key {' / '.join(sorted(fingerprints))}")


def _check_minisign(folder: pathlib.Path, key: str | None) -> Signature:
    if not shutil.which("minisign"):
        return Signature(Check.NOT_CHECKED, f"{_MINISIGN}: not checked, minisign is not provided here")
    if not key:
        return Signature(Check.NOT_CHECKED, f"{_MINISIGN}: not checked, name the file of the public key with --key")
    done = _run(["minisign", "-V", "-p", key, "-m", str(folder / MANIFEST), "-x", str(folder / _MINISIGN)])
    words = one_line(clean(done.stderr if done.returncode else done.stdout), 200)
    return Signature(Check.BAD if done.returncode else Check.GOOD, f"{_MINISIGN}: {words}")


def _run(command: list[str]) -> "subprocess.CompletedProcess[str]":
    try:
        # Standard input stays: minisign asks for the password of the key.
        return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    except FileNotFoundError as err:
        raise InputError(f"{command[0]} is not provided here; install it, or go without a signature") from err
