"""Record what an installation is made from besides this repository: compilers, Spack, recipes. Digest files."""

import hashlib
import json
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from spack_envs.installer.compilers import version

SPACK, RECIPES = "spack", "builtin"


def digest_of(paths: Iterable[Path]) -> str:
    """Return the SHA-256 over files, and over folders with all their files."""
    total = hashlib.sha256()
    for root in paths:
        for path in sorted(_files(root)):
            total.update(f"{root.name}/{path.relative_to(root)}\0".encode())
            total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    if folder.is_file():
        return iter([folder])
    return (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)


@dataclass(frozen=True)
class Checkout:
    folder: str
    revision: str

    @classmethod
    def at(cls, folder: str | Path) -> "Checkout":
        root = Path(folder).resolve()
        return cls(str(root), revision(root))


@dataclass(frozen=True)
class Origins:
    """``compilers``: command -> its version line. ``checkouts``: Spack, and its recipes by their namespace."""

    compilers: dict[str, str] = field(default_factory=dict)
    checkouts: dict[str, Checkout] = field(default_factory=dict)

    @classmethod
    def of(cls, compilers: Iterable[str], checkouts: Mapping[str, str | Path]) -> "Origins":
        return cls(
            {path: version(path) for path in compilers},
            {name: Checkout.at(folder) for name, folder in checkouts.items()},
        )

    @classmethod
    def recorded(cls, record: dict[str, Any]) -> "Origins":
        """Return the origins in an installation's record."""
        told = record.get("origins", {})
        checkouts = {name: Checkout(**checkout) for name, checkout in told.get("checkouts", {}).items()}
        return cls(told.get("compilers", {}), checkouts)

    def now(self, spack: str = "") -> "Origins":
        """Return the same origins as they are now. ``spack``: another folder of Spack, if given."""
        folders = {name: checkout.folder for name, checkout in self.checkouts.items()}
        return Origins.of(self.compilers, {**folders, **({SPACK: spack} if spack else {})})

    def digest(self, files: str) -> str:
        """Return the SHA-256 over the origins and ``files``, which is a digest."""
        return hashlib.sha256(f"{files}{json.dumps(asdict(self), sort_keys=True)}".encode()).hexdigest()

    def unlike(self, release: dict[str, dict[str, str]]) -> list[str]:
        """Return a line for Spack and for its recipes, if they differ from the pinned ``release``."""
        pinned = {SPACK: release["spack"], RECIPES: release["packages"]}
        return [
            f"{name} in {found.folder} is {found.revision}; release.toml has {pin['tag']}, commit {pin['commit']}"
            for name, pin in pinned.items()
            if (found := self.checkouts.get(name)) and found.revision != pin["commit"]
        ]


def revision(folder: Path) -> str:
    """Return the commit of a checkout, with a digest of its changes; for any other folder, a digest of its files."""
    try:
        # HEAD:./ fails if the folder is not part of the checkout.
        commit, _ = _git(folder, "rev-parse", "HEAD", "HEAD:./").split()
        changes = _git(folder, "diff", "HEAD", "--", ".")
    except (OSError, subprocess.CalledProcessError):
        return f"no commit, files {digest_of([_decides(folder)])[:12]}"
    return f"{commit}, changed {hashlib.sha256(changes.encode()).hexdigest()[:12]}" if changes else commit


def _decides(folder: Path) -> Path:
    """Return the part of Spack's folder without installed packages, or the folder itself if it is not Spack's."""
    return library if (library := folder / "lib/spack").is_dir() else folder


def _git(folder: Path, *arguments: str) -> str:
    # The folder may belong to another user, and may be read-only.
    command = ["git", "-c", "safe.directory=*", "-C", str(folder), *arguments]
    return subprocess.run(
        command,
        env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
        capture_output=True,
        text=True,
        errors="replace",
        check=True,
    ).stdout
