"""The table of an environment, ``spack_envs/ENV/programs.toml``: what it promises and where that lies in its view."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ENVIRONMENTS = Path(__file__).resolve().parents[3] / "spack_envs"
REPOSITORY = ENVIRONMENTS.parent


class TableError(ValueError):
    """A table that cannot be used; names the file, the key and what was expected."""


@dataclass(frozen=True)
class ProgramTable:
    """``features``: feature -> programs; ``path``: folders of the view, or patterns of such; ``settings``: scripts
    there that a job sources before its programs; ``sources``: folders of this repository."""

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
        """The folders that go on PATH; of a pattern, those that are there."""
        found = ([view / folder] if "*" not in folder else sorted(view.glob(folder)) for folder in self.path)
        return [folder for folders in found for folder in folders]


def names() -> list[str]:
    """Every environment of the suite."""
    return sorted(path.parent.name for path in ENVIRONMENTS.glob("*/programs.toml"))


def specs_file(name: str) -> Path:
    """What the environment ``name`` asks of Spack."""
    return ENVIRONMENTS / name / "spack.yaml"


def read(name: str, environments: Path = ENVIRONMENTS) -> ProgramTable:
    """The table of the environment ``name``.

    :raises TableError: there is no such environment, or its table cannot be used.
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
