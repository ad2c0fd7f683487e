"""All files of a site's folder, held against the vocabulary and against each other."""

from kappa.core.ground.yaml_file import require_sound
from kappa.core.sites.contract import FILE as CONTRACT
from kappa.core.sites.contract import load_contract
from kappa.core.sites.references import check_references
from kappa.core.sites.site_file import SiteDescription


def check_files(site: SiteDescription) -> None:
    """:raises InputError: a file beside ``site.yaml`` cannot be used; names what is wrong in all of them."""
    require_sound(check_references(site))
    if (site.folder / CONTRACT).exists():
        load_contract(site.folder / CONTRACT, site)
