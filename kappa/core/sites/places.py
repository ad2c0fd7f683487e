"""Where a site and its results are."""

import os
import pathlib
import re

from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import SITES_VARIABLE, folders_of_sites, home, known_sites, sites_called

#: The site of machines that do not exist.
SIMULATED_SITE = "simulated"
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def plain_name(text: str) -> str:
    """``text``, of a site or a mode, which is no path, no option and no command.

    :raises InputError: it is more than a name.
    """
    if not _PLAIN.fullmatch(text):
        raise InputError(f"expected letters, digits, '.', '_' and '-' as a name, found {one_line(text, 60)!r}")
    return text


def site_folder(site: str) -> pathlib.Path:
    """:raises InputError: there is no such site, or there are two; names where was looked, and the sites there are."""
    folder = only_site(plain_name(site))
    if folder is None or not (folder / "settings.py").is_file():
        where = ", ".join(clean(str(place)) for place in folders_of_sites())
        known = ", ".join(sorted(known_sites()))
        raise InputError(
            f"there is no {site}/settings.py in {where}; the sites are {known or 'none'}"
            f" (sites of your own: kappa --sites FOLDER, or {SITES_VARIABLE})"
        )
    return folder


def only_site(name: str) -> pathlib.Path | None:
    """The folder of this name, if there is one.

    :raises InputError: there are two.
    """
    found = sites_called(name)
    if len(found) > 1:
        places = " and ".join(clean(str(folder)) for folder in found)
        raise InputError(f"the site {name} is in two places, {places}: rename or remove one")
    return found[0] if found else None


def results_folder(site: str) -> pathlib.Path:
    """``$KAPPA_RESULTS``, or ``results/SITE``.

    :raises InputError: ``site`` is no plain name.
    """
    return pathlib.Path(os.environ.get("KAPPA_RESULTS") or home() / "results" / plain_name(site)).absolute()


def history_folder(site: str) -> pathlib.Path:
    """:raises InputError: ``site`` is no plain name."""
    return results_folder(plain_name(site)) / "history"


def fabrics_beside(site: pathlib.Path) -> pathlib.Path | None:
    """The fabrics of the simulated site: beside ``site``, or the suite's; ``None`` without any.

    :raises InputError: there are two simulated sites.
    """
    beside = site.resolve().parent / SIMULATED_SITE
    simulated = beside if beside.is_dir() else only_site(SIMULATED_SITE)
    return simulated / "fabrics" if simulated and (simulated / "fabrics").is_dir() else None
