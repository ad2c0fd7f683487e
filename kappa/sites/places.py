"""Where a site and its results are: in the working directory if it holds ``site_configs``, else beside this package."""

import os
import pathlib
import re

from kappa.ground.clean_text import one_line
from kappa.ground.errors import InputError

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SITES = "site_configs"
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


def root() -> pathlib.Path:
    here = pathlib.Path.cwd()
    return here if (here / SITES).is_dir() else REPOSITORY


def site_folder(site: str) -> pathlib.Path:
    """:raises InputError: there is no such site; names those there are."""
    folder = root() / SITES / plain_name(site)
    if not (folder / "settings.py").is_file():
        known = sorted(path.parent.name for path in (root() / SITES).glob("*/settings.py"))
        raise InputError(f"there is no {folder / 'settings.py'}; the sites are {', '.join(known) or 'none'}")
    return folder


def results_folder(site: str) -> pathlib.Path:
    """``$KAPPA_RESULTS``, or ``results/SITE``.

    :raises InputError: ``site`` is no plain name.
    """
    return pathlib.Path(os.environ.get("KAPPA_RESULTS") or root() / "results" / plain_name(site)).absolute()


def history_folder(site: str) -> pathlib.Path:
    """:raises InputError: ``site`` is no plain name."""
    return results_folder(plain_name(site)) / "history"
