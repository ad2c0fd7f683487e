"""The folders of the suite's own files, of its output, of sites and of their results; the suite's revision.

Kappa never writes into an installed suite: its output is in a folder of the user.
"""

import contextlib
import functools
import os
import pathlib
import re
import subprocess
import tomllib

from kappa import __version__
from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.errors import InputError, suggestion
from kappa.core.ground.whole_files import read_text

#: Contains the packages, the sources that checks build, the Spack environments and the suite's own sites.
SUITE = pathlib.Path(__file__).resolve().parents[3]
SITES = "site_configs"
#: The variable with the folder of a centre's own sites, like `kappa --sites`.
SITES_VARIABLE = "KAPPA_SITES"
#: The variable with the folder that contains ``results`` and ``.kappa``.
HOME_VARIABLE = "KAPPA_HOME"
_CONFIGURATION_KEYS = ("sites", "home")
_LIMIT = 1 << 16
#: The site of simulated machines.
SIMULATED_SITE = "simulated"
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def installed() -> bool:
    """Return whether this suite is an installed package and not a checkout."""
    return any(SUITE.glob("kappa_validation-*.dist-info"))


@functools.cache
def suite_revision() -> str:
    """Return ``git describe`` of this suite, or the package's version if the suite is not a checkout."""
    if not installed():  # an installed package may lie inside another checkout
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            described = subprocess.run(
                ["git", "-C", str(SUITE), "describe", "--always", "--dirty", "--abbrev=12"],
                capture_output=True,
                text=True,
                timeout=10,
                check=True,
            )
            return described.stdout.strip()
    return f"kappa-validation {__version__}"


def configuration_file() -> pathlib.Path:
    return pathlib.Path(os.environ.get("XDG_CONFIG_HOME") or pathlib.Path.home() / ".config") / "kappa/config.toml"


def home() -> pathlib.Path:
    """Return the folder of results and ``.kappa``, to which relative paths of sites refer.

    It is the first of: ``$KAPPA_HOME``, ``home`` of the user's configuration, the working directory if it contains
    ``site_configs``, the checkout, or ``$XDG_DATA_HOME/kappa`` for an installed suite.

    :raises InputError: the user's configuration is not valid.
    """
    if named := _named(HOME_VARIABLE, "home"):
        return named
    if (pathlib.Path.cwd() / SITES).is_dir():
        return pathlib.Path.cwd()
    if not installed():
        return SUITE
    return pathlib.Path(os.environ.get("XDG_DATA_HOME") or pathlib.Path.home() / ".local/share") / "kappa"


def own_sites() -> pathlib.Path:
    """Return the folder of the user's sites, where new sites are written.

    :raises InputError: the user's configuration is not valid.
    """
    return _named(SITES_VARIABLE, "sites") or home() / SITES


def folders_of_sites() -> list[pathlib.Path]:
    """Return every folder in which Kappa looks for sites.

    :raises InputError: the user's configuration is not valid, or the configured folder does not exist.
    """
    named = _named(SITES_VARIABLE, "sites")
    if named and not named.is_dir():
        raise InputError(f"there is no folder {clean(str(named))}, which {SITES_VARIABLE} or the configuration names")
    wanted = [named, pathlib.Path.cwd() / SITES, home() / SITES, SUITE / SITES]
    return list({folder.resolve(): folder for folder in wanted if folder and folder.is_dir()}.values())


def known_sites() -> dict[str, pathlib.Path]:
    """Return each site's folder by its name; of two with the same name, the first one found.

    :raises InputError: as `folders_of_sites`.
    """
    found: dict[str, pathlib.Path] = {}
    for folder in folders_of_sites():
        for path in sorted(folder.glob("*/settings.py")):
            found.setdefault(path.parent.name, path.parent)
    return found


def base_of(site: pathlib.Path) -> pathlib.Path:
    """Return the folder to which relative paths of a site refer.

    It is ``home``, or, for a site outside the known folders of sites, the parent of its folder of sites.

    :raises InputError: as `folders_of_sites`.
    """
    site = site.resolve()
    return home() if site.parent in [folder.resolve() for folder in folders_of_sites()] else site.parents[1]


def _named(variable: str, key: str) -> pathlib.Path | None:
    value = os.environ.get(variable) or _configuration().get(key)
    return pathlib.Path(value).expanduser().absolute() if value else None


def _configuration() -> dict[str, str]:
    file = configuration_file()
    try:
        values = tomllib.loads(read_text(file, _LIMIT))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as err:
        raise InputError(f"{clean(str(file))}: {clean(str(err))}") from None
    for key, value in values.items():
        if key not in _CONFIGURATION_KEYS or not isinstance(value, str) or not value:
            legal = " and ".join(f'{one} = "FOLDER"' for one in _CONFIGURATION_KEYS)
            raise InputError(f"{clean(str(file))}: {clean(str(key))}: expected {legal}, found {clean(repr(value))}")
    return values


def plain_name(text: str) -> str:
    """Return ``text``, the name of a site or a mode, after a check that it is a plain name.

    :raises InputError: it has characters of a path, an option or a command.
    """
    if not _PLAIN.fullmatch(text):
        raise InputError(f"expected letters, digits, '.', '_' and '-' as a name, found {one_line(text, 60)!r}")
    return text


def site_folder(site: str) -> pathlib.Path:
    """Return the folder of a site, given by its name or by a path to that folder.

    :raises InputError: there is no such site, or there are two; suggests a name and lists the folders of sites.
    """
    folder = only_site(site) if _PLAIN.fullmatch(site) else pathlib.Path(site)
    if not site or folder is None or not folder.is_dir():
        raise unknown_site(site)
    if not (folder / "settings.py").is_file():
        raise InputError(f"{clean(str(folder))} is not a site: it has no settings.py")
    return folder


def unknown_site(site: str) -> InputError:
    """Return the error that there is no site of this name or path."""
    where = ", ".join(clean(str(place)) for place in folders_of_sites())
    near = suggestion(pathlib.PurePath(site).name, known_sites())
    return InputError(
        f"there is no site {one_line(site, 200)!r}: {near} (sites are in {where}; `kappa site list` shows them;"
        f" kappa --sites FOLDER, or {SITES_VARIABLE}, names a folder of your own)"
    )


def site_name(site: str) -> str:
    """Return the name of a site, given by its name or by a path to its folder. Commands and ReFrame find it by name.

    :raises InputError: as `site_folder`, or Kappa does not find the folder by its name.
    """
    folder = site_folder(site).resolve()
    found = only_site(plain_name(folder.name))
    if found is None or found.resolve() != folder:
        parent = clean(str(folder.parent))
        raise InputError(
            f"{clean(str(folder))} is not in a folder of sites: use `kappa --sites {parent} … {folder.name}`"
        )
    return folder.name


def site_with_results(site: str) -> str:
    """Return the name of a site as `site_name`; the site's folder may be missing if its results exist.

    :raises InputError: there is neither.
    """
    return site if _PLAIN.fullmatch(site) and (home() / "results" / site).is_dir() else site_name(site)


def only_site(name: str) -> pathlib.Path | None:
    """Return the site folder of this name, or ``None``.

    :raises InputError: there are two, or as `folders_of_sites`.
    """
    found = [folder / name for folder in folders_of_sites() if (folder / name).is_dir()]
    if len(found) > 1:
        places = " and ".join(clean(str(folder)) for folder in found)
        raise InputError(f"the site {name} is in two places, {places}: rename or remove one")
    return found[0] if found else None


def results_folder(site: str) -> pathlib.Path:
    """Return ``$KAPPA_RESULTS``, or ``results/SITE``.

    :raises InputError: ``site`` is no plain name.
    """
    return pathlib.Path(os.environ.get("KAPPA_RESULTS") or home() / "results" / plain_name(site)).absolute()


def results_with(folder: pathlib.Path) -> pathlib.Path | None:
    """Return the user's results, of any site, in which ``folder`` lies after links are resolved; else ``None``."""
    given = os.environ.get("KAPPA_RESULTS")
    places = [pathlib.Path(given)] if given else (home() / "results").glob("*")
    return next((place.absolute() for place in places if folder.resolve().is_relative_to(place.resolve())), None)


def history_folder(site: str) -> pathlib.Path:
    """Return the folder of the site's history.

    :raises InputError: ``site`` is no plain name.
    """
    return results_folder(plain_name(site)) / "history"


def fabrics_beside(site: pathlib.Path) -> pathlib.Path | None:
    """Return the fabrics of the simulated site beside ``site``, or of the suite's; ``None`` if there are none.

    :raises InputError: there are two simulated sites.
    """
    beside = site.resolve().parent / SIMULATED_SITE
    simulated = beside if beside.is_dir() else only_site(SIMULATED_SITE)
    return simulated / "fabrics" if simulated and (simulated / "fabrics").is_dir() else None
