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


class LeftOut(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A scale or placement, by its partition feature, that these partitions are not expected to run, and why.

    Without ``families`` it holds for all.
    """

    feature: str
    partitions: Annotated[frozenset[str], _SOME]
    why: Annotated[str, _SOME]
    families: frozenset[str] = frozenset()

    def covers(self, feature: str, partition: str, family: str | None = None) -> bool:
        """Whether ``feature`` is left out on ``partition``: for ``family``, or for all without one."""
        if self.feature != feature or partition not in self.partitions:
            return False
        return not self.families or family in self.families


class _Expected(msgspec.Struct, forbid_unknown_fields=True):
    """``expected.yaml``; ``not_provided`` maps a feature to why the site has it not."""

    modes: Annotated[dict[str, _Mode], _SOME]
    default_mode: str
    not_provided: dict[str, str] = {}
    left_out: tuple[LeftOut, ...] = ()


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
    left_out: tuple[LeftOut, ...] = ()


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
        modes=expected.modes,
        default_mode=expected.default_mode,
        not_provided=expected.not_provided,
        reference_files=tuple(sorted(clean(path.name) for path in folder.glob("references/*.yaml"))),
        left_out=expected.left_out,
    )


class _StrictLoader(yaml.SafeLoader):
    """PyYAML's safe loader with every string clean. It would keep the last of two equal keys and drop the other's
    expectations."""

    def construct_clean_text(self, node: yaml.ScalarNode) -> str:
        return clean(str(self.construct_scalar(node)))

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


_StrictLoader.add_constructor("tag:yaml.org,2002:str", _StrictLoader.construct_clean_text)
