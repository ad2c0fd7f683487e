"""All files of a site's folder, held against the vocabulary and against each other."""

import pathlib

from kappa.sites.site import SiteDescription, describe


def check_site(folder: pathlib.Path) -> SiteDescription:
    """The site, when everything in its folder can be used.

    :raises InputError: something cannot; names the file, and of each problem the line, the key and what was expected.
    """
    return describe(folder)
