"""Read the table of a Spack environment, ``spack_envs/ENV/programs.toml``: its features and programs in the view."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ENVIRONMENTS = Path(__file__).resolve().parents[3] / "spack_envs"
REPOSITORY = ENVIRONMENTS.parent


class TableError(ValueError):
    """A table that is not valid; the message names the file, the key and the expected value."""


@dataclass(frozen=True)
class ProgramTable:
    """``features``: feature -> programs; ``path``: folders of the view, or patterns of folders; ``settings``: scripts
    in the view that a job sources before its programs; ``sources``: folders of this repository."""

    name: str
    path: tuple[str, ...]
    features: dict[str, tuple[str, ...]]
    extras: dict[str, str]
    settings: tuple[str, ...]
    sources: tuple[str, ...]

    @property
    def programs(self) -> list[str]:
        return sorted({program for programs in self.features.values() for program in programs})

    def folders(self, view: Path) -> list[Path]:
        """Return the folders for PATH; for a pattern, only the existing folders."""
        found = ([view / folder] if "*" not in folder else sorted(view.glob(folder)) for folder in self.path)
        return [folder for folders in found for folder in folders]


def names() -> list[str]:
    """Return the names of all environments of the suite, sorted."""
    return sorted(path.parent.name for path in ENVIRONMENTS.glob("*/programs.toml"))


def specs_file(name: str) -> Path:
    """Return the path of the environment's Spack specification."""
    return ENVIRONMENTS / name / "spack.yaml"


def read(name: str, environments: Path = ENVIRONMENTS) -> ProgramTable:
    """Return the table of the environment ``name``.

    :raises TableError: there is no such environment, or its table is not valid.
    """
    file = environments / name / "programs.toml"
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise TableError(f"no environment {name!r}: there are {', '.join(names())}") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as err:
        raise TableError(f"{file}: {err}") from err
    unknown = set(document) - {"path", "features", "extras", "settings", "sources"}
    if unknown:
        raise TableError(f"{file}: unknown key {sorted(unknown)[0]!r}")
    features, extras = (_mapping(file, document, key) for key in ("features", "extras"))
    if not features:
        raise TableError(f"{file}: features: expected at least one feature with its programs")
    return ProgramTable(
        name=name,
        path=_strings(file, "path", document.get("path")),
        features={key: _strings(file, f"features.{key}", value) for key, value in features.items()},
        extras={key: str(value) for key, value in extras.items()},
        settings=_strings(file, "settings", document.get("settings", [])),
        sources=_strings(file, "sources", document.get("sources", [])),
    )


def _mapping(file: Path, document: dict[str, Any], key: str) -> dict[str, Any]:
    value = document.get(key, {})
    if not isinstance(value, dict):
        raise TableError(f"{file}: {key}: expected a table, found {value!r}")
    return value


def _strings(file: Path, key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TableError(f"{file}: {key}: expected a list of strings, found {value!r}")
    return tuple(value)
