"""Prove a dossier: a manifest has the SHA-256 of each file, and each party adds a detached signature of it.

GnuPG or minisign makes and checks the signatures.
"""

import base64
import binascii
import errno
import hashlib
import json
import os
import pathlib
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Annotated

import msgspec

from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.documents import fit
from kappa.core.ground.errors import InputError
from kappa.core.ground.whole_files import read_text, write_atomically

MANIFEST = "manifest.json"

# In bytes. A page on a thousand clauses with a thousand samples each is smaller.
SIZE_LIMIT = 256 << 20

# A signature of GnuPG or minisign. With several parties the name contains the party.
_SIGNATURE = re.compile(re.escape(MANIFEST) + r"(\.[A-Za-z0-9_-]{1,40})?\.(asc|minisig)")

_Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$(?!\n)", description="a SHA-256 in hexadecimal")]
_SIGNATURE_LIMIT = 1 << 16
_FINGERPRINT = re.compile(r"[0-9A-F]{40}|[0-9A-F]{64}")


class _Manifest(msgspec.Struct):
    files: Annotated[dict[str, _Digest], msgspec.Meta(min_length=1)]



def sha256(path: pathlib.Path) -> str:
    """Return the hash of a regular file; a link is not followed.

    :raises OSError: the file is unreadable or not regular.
    """
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        # A pipe has the hash of an empty file, and a device has no end.
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        return hashlib.file_digest(file, "sha256").hexdigest()



def member_text(path: pathlib.Path) -> str:
    """Return the text of a dossier's file. The dossier may be forged, so links and huge files are refused.

    :raises OSError: the file is unreadable, a link, not regular, or larger than ``SIZE_LIMIT`` bytes.
    :raises UnicodeDecodeError: the file is not UTF-8.
    """
    if path.is_symlink():
        raise OSError(errno.ELOOP, "it is a link", str(path))
    return read_text(path, SIZE_LIMIT)



def is_signature(name: str) -> bool:
    """Return whether ``name`` is the name of a detached signature of the manifest."""
    return _SIGNATURE.fullmatch(name) is not None



def files_below(folder: pathlib.Path) -> list[str]:
    """Return the sorted relative paths, with ``/``, of everything below ``folder`` that is not a folder."""
    found = []
    for parent, folders, names in os.walk(folder):
        # Links to folders are listed among the folders.
        linked = [name for name in folders if os.path.islink(os.path.join(parent, name))]
        found += [pathlib.Path(parent, name).relative_to(folder).as_posix() for name in (*names, *linked)]
    return sorted(found)



def manifest_of(folder: pathlib.Path) -> str:
    """Return the manifest of the current files in ``folder``."""
    files = {name: sha256(folder / name) for name in files_below(folder)}
    return json.dumps({"algorithm": "SHA-256", "files": files}, indent=1) + "\n"



def differences(folder: pathlib.Path) -> list[str]:
    """Return the files that were altered, removed or added after the manifest was written.

    :raises InputError: the manifest is missing or damaged.
    """
    path = folder / MANIFEST
    source = clean(str(path))
    try:
        document = json.loads(member_text(path))
    except OSError as err:
        raise InputError(f"cannot read {source}: {err.strerror}; give the folder of a dossier") from err
    except (ValueError, RecursionError) as err:
        raise InputError(f"{source}: not valid JSON") from err
    expected = fit(document, _Manifest, source).files
    present = {name for name in files_below(folder) if name != MANIFEST and not is_signature(name)}
    found = [f"added: {name}" for name in sorted(present - expected.keys())]
    for name, digest in sorted(expected.items()):
        if name not in present:
            found.append(f"missing: {name}")
            continue
        try:
            if sha256(folder / name) != digest:
                found.append(f"altered: {name}")
        except OSError as err:
            found.append(f"cannot be read: {name} ({err.strerror})")
    return [clean(line) for line in found]


class SignatureState(Enum):
    GOOD, BAD, NOT_CHECKED, NONE = range(4)


@dataclass(frozen=True)
class Signature:
    """Hold the result of a check. ``keys``: the required keys for which this signature is good."""

    check: SignatureState
    words: str
    keys: frozenset[str] = frozenset()


def sign(folder: pathlib.Path, how: str, party: str = "") -> str:
    """Sign the manifest in ``folder`` and return the name of the signature file; it contains ``party``.

    :param how: gpg, gpg:KEY or minisign:SECRET_KEY_FILE.
    :raises InputError: the signature exists, the program is missing, or it fails; the message has its output.
    """
    program, _, key = how.partition(":")
    kind = {"gpg": "asc", "minisign": "minisig" if key else None}.get(program)
    if kind is None:
        raise InputError(f"{clean(how)}: expected gpg, gpg:KEY or minisign:SECRET_KEY_FILE")
    name = ".".join(part for part in (MANIFEST, party, kind) if part)
    if not is_signature(name):
        raise InputError(f"{clean(party)}: expected at most 40 letters, digits, '_' and '-'")
    if (folder / name).exists():
        raise InputError(f"{clean(str(folder / name))} exists; name another party with --party")
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
        write_atomically(folder / name, read_text(output, _SIGNATURE_LIMIT))
    return name


def check(folder: pathlib.Path, keys: Sequence[str]) -> list[Signature]:
    """Return every signature of the dossier, and every missing one.

    :param keys: the keys of all who must have signed: fingerprints for GnuPG, files with public keys for minisign.
        GnuPG also accepts other keys in the keyring. A minisign signature by another key is not checked.
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
        if not stat.S_ISREG(status.st_mode) or status.st_size > _SIGNATURE_LIMIT:
            found.append(Signature(SignatureState.BAD, f"{name}: not a signature file"))
        elif name.endswith(".asc"):
            found.append(_check_gnupg(folder, name, by_gnupg))
        else:
            found.append(_check_minisign(folder, name, by_minisign))
    signed = {key for signature in found if signature.check is SignatureState.GOOD for key in signature.keys}
    lacking = [Signature(SignatureState.BAD, f"not signed by {clean(key)}") for key in keys if key not in signed]
    return [*found, *lacking] or [Signature(SignatureState.NONE, "the dossier is not signed")]


def _check_gnupg(folder: pathlib.Path, name: str, fingerprints: dict[str, str]) -> Signature:
    if not shutil.which("gpg"):
        return Signature(SignatureState.NOT_CHECKED, f"{name}: not checked, GnuPG is not installed; install it")
    done = _run(["gpg", "--batch", "--status-fd=1", "--verify", str(folder / name), str(folder / MANIFEST)])
    said = dict(re.findall(r"^\[GNUPG:\] (\w+) ?(.*)$", done.stdout, re.MULTILINE))
    if "NO_PUBKEY" in said:
        return Signature(
            SignatureState.NOT_CHECKED,
            f"{name}: not checked, the key {said['NO_PUBKEY']} is not in the keyring; import it",
        )
    if done.returncode or "GOODSIG" not in said or "VALIDSIG" not in said:
        return Signature(SignatureState.BAD, f"{name}: {one_line(clean(done.stderr), 200)}")
    # The first word is the fingerprint of the signing key, the last the fingerprint of its primary key.
    signers = {said["VALIDSIG"].split()[0], said["VALIDSIG"].split()[-1]}
    who = one_line(clean(said["GOODSIG"].partition(" ")[2]), 80)
    return Signature(
        SignatureState.GOOD,
        f"{name}: good signature of {who}, key {' / '.join(sorted(signers))}",
        frozenset(key for key, fingerprint in fingerprints.items() if fingerprint in signers),
    )


def _check_minisign(folder: pathlib.Path, name: str, keys: list[str]) -> Signature:
    if not shutil.which("minisign"):
        return Signature(SignatureState.NOT_CHECKED, f"{name}: not checked, minisign is not installed; install it")
    signer = _minisign_key_id(folder / name)
    matching = [key for key in keys if signer and _minisign_key_id(pathlib.Path(key)) == signer]
    if signer and not matching:
        words = "give the file of its public key with --key"
        return Signature(SignatureState.NOT_CHECKED, f"{name}: not checked, signed by the key {signer}; {words}")
    words = "not a minisign signature"
    for key in matching:
        done = _run(["minisign", "-V", "-p", key, "-m", str(folder / MANIFEST), "-x", str(folder / name)])
        words = one_line(clean(done.stderr if done.returncode else done.stdout), 200)
        if not done.returncode:
            return Signature(SignatureState.GOOD, f"{name}: {words}", frozenset(matching))
    return Signature(SignatureState.BAD, f"{name}: {words}")


def _minisign_key_id(path: pathlib.Path) -> str:
    """Return the key's id as minisign prints it, from a signature or a public key; empty for any other file.

    The second lines of both files begin with the same layout.
    """
    try:
        lines = read_text(path, _SIGNATURE_LIMIT).splitlines()
        return base64.b64decode(lines[1], validate=True)[2:10][::-1].hex().upper()
    except (OSError, UnicodeDecodeError, IndexError, binascii.Error):
        return ""


def _run(command: list[str]) -> "subprocess.CompletedProcess[str]":
    try:
        # Keep standard input, because minisign asks for the key's password.
        return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    except FileNotFoundError as err:
        raise InputError(f"{command[0]} is not installed; install it, or leave out the signature") from err
