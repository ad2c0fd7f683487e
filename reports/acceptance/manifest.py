"""``manifest.json``: the SHA-256 of every file of a dossier, and whether the files still have them."""

import errno
import hashlib
import json
import os
import pathlib
import re
import stat
from typing import Annotated

import msgspec

from kappa.core.ground.bounded_file import read_text
from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.typed import fit

MANIFEST = "manifest.json"
# A page on a thousand clauses with a thousand samples each is smaller.
SIZE_LIMIT = 256 << 20
# One for each party: of GnuPG or of minisign, with who signed in the name where there are several.
_SIGNATURE = re.compile(re.escape(MANIFEST) + r"(\.[A-Za-z0-9_-]{1,40})?\.(asc|minisig)")
_Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$(?!\n)", description="a SHA-256 in hexadecimal")]


class _Manifest(msgspec.Struct):
    files: Annotated[dict[str, _Digest], msgspec.Meta(min_length=1)]


def sha256(path: pathlib.Path) -> str:
    """Of a regular file; a link is not followed.

    :raises OSError: it cannot be read, or is something else.
    """
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        # A pipe would have the hash of an empty file, and a device no end.
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        return hashlib.file_digest(file, "sha256").hexdigest()


def member_text(path: pathlib.Path) -> str:
    """The text of a file of a dossier, which anybody may have made: no link is followed, and it has an end.

    :raises OSError: it cannot be read, is a link or no regular file, or is larger than ``SIZE_LIMIT`` bytes.
    :raises UnicodeDecodeError: it is not UTF-8.
    """
    if path.is_symlink():
        raise OSError(errno.ELOOP, "it is a link", str(path))
    return read_text(path, SIZE_LIMIT)


def is_signature(name: str) -> bool:
    """Whether ``name`` is that of a detached signature on the manifest."""
    return _SIGNATURE.fullmatch(name) is not None


def files_below(folder: pathlib.Path) -> list[str]:
    """The path of everything below ``folder`` that is no folder, with ``/``, in order."""
    found = []
    for parent, folders, names in os.walk(folder):
        # Links to folders are listed among the folders.
        linked = [name for name in folders if os.path.islink(os.path.join(parent, name))]
        found += [pathlib.Path(parent, name).relative_to(folder).as_posix() for name in (*names, *linked)]
    return sorted(found)


def manifest_of(folder: pathlib.Path) -> str:
    """The manifest of what is in ``folder`` now."""
    files = {name: sha256(folder / name) for name in files_below(folder)}
    return json.dumps({"algorithm": "SHA-256", "files": files}, indent=1) + "\n"


def differences(folder: pathlib.Path) -> list[str]:
    """What was altered, is missing, or was added since the manifest was written; empty when nothing was.

    :raises InputError: there is no manifest, or it is none.
    """
    path = folder / MANIFEST
    source = clean(str(path))
    try:
        document = json.loads(member_text(path))
    except OSError as err:
        raise InputError(f"cannot read {source}: {err.strerror}; is this a dossier?") from err
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
