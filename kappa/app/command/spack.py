"""``kappa spack``: run the installer of ``spack_envs``, which needs no Python environment."""

import pathlib

from kappa.app.command.arguments import add_site, parser, resolved

_MIRROR = """\
Solve the environments for the site, and fetch all sources into FOLDER, for a machine without a network. This machine
does not need the site's compilers and libraries.

Exit status: 0 done, 1 there is no solution, or a source cannot be fetched.
"""


def run(arguments: list[str]) -> int:
    words = parser("spack", "Install the suite's Spack environments for a site; see docs/spack.md.")
    actions = words.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("install", add_help=False, help="install or verify the environments; see `install --help`")
    mirror = actions.add_parser("mirror", help="fetch all sources for a machine without a network", description=_MIRROR)
    mirror.add_argument("folder", metavar="FOLDER", help="the folder for the sources; only missing ones are added")
    add_site(mirror)
    mirror.add_argument("environments", nargs="*", metavar="ENV", help="an environment (default: all of the suite)")
    from spack_envs.installer.cli import main

    if arguments[:1] == ["install"]:
        return main(arguments[1:], program="kappa spack install", check_site=_check)
    options = resolved(words.parse_args(arguments))
    return main(["--mirror", options.folder, options.site, *options.environments], check_site=_check)


def _check(folder: pathlib.Path) -> None:
    """Read the site's description.

    :raises InputError: ``site.yaml`` of the site cannot be used.
    """
    from kappa.core.sites.load import Site

    Site(folder).require_description()
