"""Prove a dossier: a manifest has the SHA-256 of each file, and each party adds a detached signature of it.

GnuPG or minisign makes and checks the signatures.
"""

import base64
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

NOT_SIGNED = "not signed: intact proves only that the files fit the manifest"

# A signature of GnuPG or minisign. With several parties the name contains the party.
_SIGNATURE = re.compile(re.escape(MANIFEST) + r"(\.[A-Za-z0-9_-]{1,40})?\.(asc|minisig)")

_Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$(?!\n)", description="a SHA-256 in hexadecimal")]
_SIGNATURE_LIMIT = 1 << 16
_FINGERPRINT = re.compile(r"[0-9A-F]{40}|[0-9A-F]{64}")
# GnuPG and minisign ignore text around a signature, so the form of the whole file is checked here.
_BASE64 = "[A-Za-z0-9+/]"
_ENDINGS = {"gpg": "asc", "minisign": "minisig"}
_FORMS = {
    "asc": re.compile(
        r"-----BEGIN PGP SIGNATURE-----\n(?:\w+: .*\n)*\n(?:[A-Za-z0-9+/=]+\n)+-----END PGP SIGNATURE-----\n*"
    ),
    "minisig": re.compile(
        rf"untrusted comment: .*\n(?P<signature>R[UW]{_BASE64}{{97}}=)\ntrusted comment: .*\n{_BASE64}{{86}}==\n*"
    ),
}
_PUBLIC_KEY = re.compile(rf"(untrusted comment: .*\n)?(?P<key>RW{_BASE64}{{54}})\s*")
# GnuPG prints exactly one of these status lines for each signature.
_REFUSALS = {
    "BADSIG": "the signature is of other content",
    "ERRSIG": "GnuPG cannot check the signature",
    "EXPSIG": "the signature has expired",
    "EXPKEYSIG": "the key has expired",
    "REVKEYSIG": "the key is revoked",
}


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


def member_text(path: pathlib.Path, limit_bytes: int = SIZE_LIMIT) -> str:
    """Return the text of a dossier's file. The dossier may be forged, so links and huge files are refused.

    :raises OSError: the file is unreadable, a link, not regular, or larger than ``limit_bytes``.
    :raises UnicodeDecodeError: the file is not UTF-8.
    """
    if path.is_symlink():
        raise OSError(errno.ELOOP, "it is a link", str(path))
    return read_text(path, limit_bytes)


def is_signature(name: str) -> bool:
    """Return whether ``name`` is the name of a detached signature of the manifest."""
    return _SIGNATURE.fullmatch(name) is not None


def files_below(folder: pathlib.Path) -> list[str]:
    """Return the sorted relative paths, with ``/``, of everything below ``folder`` that is not a folder.

    :raises OSError: a folder is unreadable.
    """

    def refuse(err: OSError) -> None:
        if not isinstance(err, FileNotFoundError):
            raise err

    paths = []
    for parent, folders, names in os.walk(folder, onerror=refuse):
        # Links to folders are listed among the folders.
        linked = [name for name in folders if os.path.islink(os.path.join(parent, name))]
        paths += [pathlib.Path(parent, name).relative_to(folder).as_posix() for name in (*names, *linked)]
    return sorted(paths)


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
    try:
        present = {name for name in files_below(folder) if name != MANIFEST and not is_signature(name)}
    except OSError as err:
        raise InputError(f"cannot read {clean(str(err.filename))}: {err.strerror}; make the folder readable") from err
    problems = [f"added: {name}" for name in sorted(present - expected.keys())]
    for name, digest in sorted(expected.items()):
        if name not in present:
            problems.append(f"missing: {name}")
            continue
        try:
            if sha256(folder / name) != digest:
                problems.append(f"altered: {name}")
        except OSError as err:
            problems.append(f"cannot be read: {name} ({err.strerror})")
    return [clean(line) for line in problems]


class SignatureState(Enum):
    GOOD, BAD, NOT_CHECKED = range(3)


@dataclass(frozen=True)
class Signature:
    """Hold the result of a check.

    ``signers``: the keys that verified a good signature, the primary key last: fingerprints of GnuPG, or a public key
    of minisign in hexadecimal.
    """

    state: SignatureState
    line: str
    signers: tuple[str, ...] = ()


def sign(folder: pathlib.Path, how: str, party: str = "") -> str:
    """Sign the manifest in ``folder`` and return the name of the signature file; it contains ``party``.

    :param how: gpg, gpg:KEY or minisign:SECRET_KEY_FILE.
    :raises InputError: the signature exists, the program is missing, or it fails; the message has its output.
    """
    program, _, key = how.partition(":")
    if program not in _ENDINGS or (program == "minisign" and not key):
        raise InputError(f"{clean(how)}: expected gpg, gpg:KEY or minisign:SECRET_KEY_FILE")
    name = ".".join(part for part in (MANIFEST, party, _ENDINGS[program]) if part)
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

    A key counts only for a signature that this key verified, and for one signature only.

    :param keys: the keys of all who must have signed: fingerprints for GnuPG, public keys or their files for minisign.
        GnuPG also accepts other keys in the keyring. A minisign signature by another key is not checked.
    :raises InputError: a key is neither.
    """
    required: dict[str, str] = {}
    by_minisign: dict[str, str] = {}
    signatures: list[Signature] = []
    for key in keys:
        identity = key.replace(" ", "").upper()
        if not _FINGERPRINT.fullmatch(identity):
            public = _public_key(key)
            # Without the key's id, which its owner chooses freely.
            identity = by_minisign[public] = base64.b64decode(public)[10:].hex()
        if identity in required:
            signatures.append(Signature(SignatureState.BAD, f"--key {clean(key)}: one key for two parties"))
        required.setdefault(identity, key)
    # Signing keys, and the required keys that a signature counts for.
    signed: set[str] = set()
    for name in sorted(filter(is_signature, os.listdir(folder))):
        signature = _check_file(folder, name, by_minisign)
        credited = [identity for identity in signature.signers if identity in required]
        if len({*credited}) > 1 or (signature.signers and signature.signers[-1] in signed):
            signature = Signature(SignatureState.BAD, f"{name}: one key for two parties: {signature.line}")
            credited = []
        signatures.append(signature)
        signed |= {*signature.signers[-1:], *credited}
    lacking = [f"not signed by {clean(key)}" for identity, key in required.items() if identity not in signed]
    signatures += [Signature(SignatureState.BAD, line) for line in lacking]
    return signatures or [Signature(SignatureState.NOT_CHECKED, NOT_SIGNED)]


def _public_key(key: str) -> str:
    """Return the public key of minisign, from itself or from its file."""
    try:
        match = _PUBLIC_KEY.fullmatch(key) or _PUBLIC_KEY.fullmatch(read_text(pathlib.Path(key), _SIGNATURE_LIMIT))
    except (OSError, UnicodeDecodeError):
        match = None
    if match is None:
        raise InputError(f"--key {clean(key)}: expected a GnuPG fingerprint or the file of minisign's public key")
    return match["key"]


def _key_id(text: str) -> str:
    """Return the key's id as minisign prints it, from the line of a signature or of a public key."""
    return base64.b64decode(text)[2:10][::-1].hex().upper()


def _check_file(folder: pathlib.Path, name: str, by_minisign: dict[str, str]) -> Signature:
    """Check one file; ``by_minisign``: public key -> identity of the signer."""
    kind = name.rpartition(".")[2]
    try:
        match = _FORMS[kind].fullmatch(member_text(folder / name, _SIGNATURE_LIMIT))
    except (OSError, UnicodeDecodeError):
        return Signature(SignatureState.BAD, f"{name}: not a signature file")
    if match is None:
        return Signature(SignatureState.BAD, f"{name}: expected one signature and nothing else; remove the rest")
    program = "gpg" if kind == "asc" else "minisign"
    if not shutil.which(program):
        return Signature(SignatureState.NOT_CHECKED, f"{name}: not checked, {program} is not installed; install it")
    if kind == "asc":
        return _check_gnupg(folder, name)
    return _check_minisign(folder, name, match["signature"], by_minisign)


def _check_gnupg(folder: pathlib.Path, name: str) -> Signature:
    done = _run(["gpg", "--batch", "--status-fd=1", "--verify", str(folder / name), str(folder / MANIFEST)])
    statuses = re.findall(r"^\[GNUPG:\] (\w+) ?(.*)$", done.stdout, re.MULTILINE)
    outcomes = [(kind, rest) for kind, rest in statuses if kind == "GOODSIG" or kind in _REFUSALS]
    if len(outcomes) > 1:
        return Signature(SignatureState.BAD, f"{name}: expected one signature in the file, found {len(outcomes)}")
    if unknown := [key for kind, key in statuses if kind == "NO_PUBKEY"]:
        line = f"{name}: not checked, the key {unknown[0]} is not in the keyring; import it"
        return Signature(SignatureState.NOT_CHECKED, line)
    valid = [rest.split() for kind, rest in statuses if kind == "VALIDSIG"]
    outcome, user = outcomes[0] if outcomes else ("", "")
    if done.returncode or outcome != "GOODSIG" or len(valid) != 1:
        why = _REFUSALS.get(outcome, "GnuPG found no good signature")
        return Signature(SignatureState.BAD, f"{name}: {why}: {one_line(clean(done.stderr), 200)}")
    # The first word is the fingerprint of the signing key, the last the fingerprint of its primary key.
    signers = tuple(dict.fromkeys((valid[0][0], valid[0][-1])))
    who = one_line(clean(user.partition(" ")[2]), 80)
    return Signature(SignatureState.GOOD, f"{name}: good signature of {who}, key {' / '.join(signers)}", signers)


def _check_minisign(folder: pathlib.Path, name: str, signature: str, keys: dict[str, str]) -> Signature:
    signer = _key_id(signature)
    line = f"{name}: not checked, signed by the key {signer}; give the file of its public key with --key"
    result = Signature(SignatureState.NOT_CHECKED, line)
    for public, identity in keys.items():
        done = _run(["minisign", "-V", "-P", public, "-m", str(folder / MANIFEST), "-x", str(folder / name)])
        if not done.returncode:
            return Signature(SignatureState.GOOD, f"{name}: {one_line(clean(done.stdout), 200)}", (identity,))
        if _key_id(public) == signer:
            result = Signature(SignatureState.BAD, f"{name}: {one_line(clean(done.stderr), 200)}")
    return result


def _run(command: list[str]) -> "subprocess.CompletedProcess[str]":
    try:
        # Keep standard input, because minisign asks for the key's password.
        return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    except FileNotFoundError as err:
        raise InputError(f"{command[0]} is not installed; install it, or leave out the signature") from err
