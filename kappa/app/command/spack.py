"""``kappa spack``: the installer of ``spack_envs``, which runs without any Python environment, too."""

import pathlib

from kappa.app.command.arguments import add_site, parser, resolved

_MIRROR = """\
Solve the environments for the site and fetch all of their sources into FOLDER, for a machine without a network. The
site's compilers and libraries need not be on this one.

Exit status: 0 done, 1 there is no solution, or a source cannot be had.
"""


def run(arguments: list[str]) -> int:
    words = parser("spack", "Spack environments of the suite, installed for a site; see docs/spack.md.")
    actions = words.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("install", add_help=False, help="install or verify them; --help says more")
    mirror = actions.add_parser(
        "mirror", help="fetch their sources for a machine without a network", description=_MIRROR
    )
    mirror.add_argument("folder", metavar="FOLDER", help="filled, or completed, with the sources")
    add_site(mirror)
    mirror.add_argument("environments", nargs="*", metavar="ENV", help="default: all that the suite has")
    from spack_envs.installer.cli import main

    if arguments[:1] == ["install"]:
        return main(arguments[1:], program="kappa spack install", check_site=_check)
    options = resolved(words.parse_args(arguments))
    return main(["--mirror", options.folder, options.site, *options.environments], check_site=_check)


def _check(folder: pathlib.Path) -> None:
    """:raises InputError: ``site.yaml`` of the site cannot be used."""
    from kappa.core.sites.load import Site

    Site(folder).require_description()
