"""``kappa spack``: run the installer of ``spack_envs``, which needs no Python environment."""

import argparse
import pathlib

from kappa.app.command.arguments import CommandParser, add_site

_MIRROR = """\
Solve the environments for the site, and fetch all sources into FOLDER, for a machine without a network. This machine
does not need the site's compilers and libraries.

Exit status: 0 done, 1 there is no solution, or a source cannot be fetched.
"""


def add_arguments(to: CommandParser) -> None:
    to.describe("Install the suite's Spack environments for a site; see docs/spack.md.")
    to.add_command("install", "install or verify the environments", lambda install: install.take_all(_install))
    to.add_command("mirror", "fetch all sources for a machine without a network", _add_mirror)


def _install(options: argparse.Namespace) -> int:
    from spack_envs.installer.cli import main

    return main(options.arguments, program="kappa spack install", check_site=_check)


def _add_mirror(to: CommandParser) -> None:
    to.describe(_MIRROR, _mirror)
    to.add_argument("folder", metavar="FOLDER", help="the folder for the sources; only missing ones are added")
    add_site(to)
    to.add_argument("environments", nargs="*", metavar="ENV", help="an environment (default: all of the suite)")


def _mirror(options: argparse.Namespace) -> int:
    from spack_envs.installer.cli import main

    return main(["--mirror", options.folder, options.site, *options.environments], check_site=_check)


def _check(folder: pathlib.Path) -> None:
    """:raises InputError: ``site.yaml`` of the site cannot be used."""
    from kappa.core.sites.load import Site

    Site(folder).require_description()
