"""What a site expects of a run: ``site_configs/<site>/expected.yaml``, and which reference files it has."""

import pathlib
import re
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import yaml

from kappa.ground.bounded_file import read_text
from kappa.ground.bounded_yaml import load_yaml
from kappa.ground.clean_text import clean, one_line
from kappa.ground.errors import InputError
from kappa.ground.typed import fit

MAX_SITE_FILE_BYTES = 2**20
SITES = pathlib.Path("site_configs")
_SITE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

# Family -> partitions; a mode that expects nothing would pass whatever happens.
_SOME = msgspec.Meta(min_length=1)
_Mode = Annotated[dict[str, Annotated[tuple[str, ...], _SOME]], _SOME]


class _Expected(msgspec.Struct, forbid_unknown_fields=True):
    """``expected.yaml``; ``not_provided`` maps a feature to why the site has it not."""

    modes: Annotated[dict[str, _Mode], _SOME]
    default_mode: str
    not_provided: dict[str, str] = {}


@dataclass(frozen=True)
class Site:
    """``modes`` maps a mode to the partitions on which each family must have run."""

    name: str
    path: str
    modes: dict[str, dict[str, tuple[str, ...]]]
    default_mode: str
    not_provided: dict[str, str]
    """Feature -> why the site has it not."""
    reference_files: tuple[str, ...]


class SiteUnknownError(LookupError):
    """No site folder fits the report; the message says what was looked for."""


def find_site(systems: tuple[str, ...]) -> pathlib.Path:
    """The folder of the site whose cases a report holds, below the working directory or beside this package.

    :raises SiteUnknownError: there is none.
    """
    if len(systems) != 1:
        raise SiteUnknownError(f"the cases come from {len(systems)} systems: {', '.join(systems) or 'none'}")
    name = systems[0]
    if not _SITE_NAME.fullmatch(name):
        raise SiteUnknownError(f"the system's name {one_line(name, 60)!r} cannot be a folder's name")
    for root in (pathlib.Path(), pathlib.Path(__file__).parents[2]):
        if (root / SITES / name).is_dir():
            return root / SITES / name
    raise SiteUnknownError(f"no folder {SITES / name}")


def load_site(folder: pathlib.Path) -> Site:
    """Read ``expected.yaml`` of a site.

    :raises InputError: it cannot be read or has a wrong key; names the file and the key.
    """
    path = folder / "expected.yaml"
    source = clean(str(path))
    try:
        document = load_yaml(read_text(path, MAX_SITE_FILE_BYTES), _StrictLoader)
    except (OSError, UnicodeDecodeError) as err:
        reason = err.strerror if isinstance(err, OSError) else err.reason
        raise InputError(f"cannot read {source}: {reason}; it says what each mode has to run") from err
    except yaml.YAMLError as err:
        raise InputError(f"{source}: not valid YAML: {one_line(clean(str(err)), 300)}") from err
    expected = fit(document, _Expected, source)
    if expected.default_mode not in expected.modes:
        modes = ", ".join(expected.modes)
        raise InputError(f"{source}: default_mode: expected one of {modes}, found {expected.default_mode!r}")
    return Site(
        name=clean(folder.resolve().name),
        path=clean(str(folder)),
        modes={
            clean(mode): {clean(family): tuple(map(clean, partitions)) for family, partitions in families.items()}
            for mode, families in expected.modes.items()
        },
        default_mode=clean(expected.default_mode),
        not_provided={clean(feature): clean(why) for feature, why in expected.not_provided.items()},
        reference_files=tuple(sorted(clean(path.name) for path in folder.glob("references/*.yaml"))),
    )


class _StrictLoader(yaml.SafeLoader):
    """PyYAML's safe loader, which would keep the last of two equal keys and drop the other's expectations."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key_node, _ in node.value:
            key = key_node.value
            if not isinstance(key_node, yaml.ScalarNode) or key in seen:
                problem = f"expected each key once, and as text; found {key!r}"
                raise yaml.constructor.ConstructorError("in a mapping", node.start_mark, problem, key_node.start_mark)
            seen.add(key)
        mapping = super().construct_mapping(node, deep=deep)
        return {str(key): value for key, value in mapping.items()}
