"""Parse and run the command line of ``spack_envs/install``."""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import site_name
from kappa.core.vocabulary import spack_tables
from kappa.core.vocabulary.spack_tables import TableError
from spack_envs.installer.chosen import choose
from spack_envs.installer.installation import (
    ensure,
    exclusive,
    keep_artefacts,
    make_mirror,
    mirror_configuration,
    prepare,
)
from spack_envs.installer.spack import InstallError
from spack_envs.installer.state import SpackEnvironment, SpackSite, state_root

_EPILOG = """\
exit status:
  0 done, 1 failed, 2 wrong options

environment variables:
  KAPPA_SPACK_ROOT    an existing Spack (0.23 or 1.x); without it, the release in release.toml is cloned
  KAPPA_SPACK_CONFIG  more folders of Spack configuration, separated by colons, for instance of a mirror
  KAPPA_SPACK_STATE   the folder for all installations, which compute nodes must see (default: .kappa/spack)
  KAPPA_SPACK_SPEC    as --spec; separate several by semicolons
  SPACK_PYTHON        the Python that runs Spack

examples:
  spack_envs/install mycluster                     install all environments
  spack_envs/install mycluster mpi-io --jobs 16    install one
  spack_envs/install mycluster --verify            check the installed ones
  spack_envs/install mycluster mpi-io --run find -lv
  spack_envs/install mycluster mpi-io --mirror /media/sources     fetch the sources for a machine without a network
"""


def main(
    arguments: list[str] | None = None,
    program: str = "spack_envs/install",
    check_site: Callable[[Path], object] = lambda folder: None,
) -> int:
    """Run the command, and return its exit status: 0 done, 1 failed, 2 wrong options.

    :param check_site: raises an error if the site's files are unsound. It is optional, because it needs a YAML parser,
        which Python's standard library does not have.
    """
    parser = _parser(program)
    options = parser.parse_args(arguments)
    if options.list:
        return _list()
    if not options.site:
        parser.error("SITE is missing: give a site's name (`kappa site list`)")
    # A folder with only a subfolder spack/ is enough here.
    if not SpackSite(options.site).facts.is_dir() or os.sep in options.site:
        try:
            options.site = site_name(options.site)
        except InputError as err:
            parser.error(clean(str(err)))
    check_site(SpackSite(options.site).facts.parent)
    try:
        if options.spec:
            choose(options.spec)
        return _act(options)
    except (InstallError, TableError, InputError) as err:
        print(f"install: {clean(str(err))}", file=sys.stderr)
        return 1


def _parser(program: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=program,
        description="Install the suite's Spack environments for a site, and check that every expected program exists.\n"
        "A second call does nothing, unless recipes, compilers, Spack or the site's Spack configuration changed.\n"
        "If one environment fails, the others are still installed.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("site", nargs="?", metavar="SITE", help="a site whose folder has a folder spack/")
    parser.add_argument("environments", nargs="*", metavar="ENV", help="an environment (default: all of the suite)")
    parser.add_argument("--list", action="store_true", help="list the environments with their features, and exit")
    parser.add_argument("--verify", action="store_true", help="check the environments; install nothing")
    parser.add_argument("--jobs", type=int, default=0, metavar="N", help="number of build jobs (default: Spack's)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="copy spack.lock and the specs to FOLDER/ENV")
    parser.add_argument(
        "--spec", action="append", default=[], metavar="SPEC",
        help="replace the environment's spec of this package, for instance by 'osu-micro-benchmarks ^mpich'; the result"
        " is a second environment; repeat for more",
    )  # fmt: skip
    parser.add_argument(
        "--mirror",
        type=Path,
        metavar="FOLDER",
        help="fetch all sources into FOLDER, for another machine; install nothing",
    )
    parser.add_argument(
        "--run", nargs=argparse.REMAINDER, metavar="ARGUMENT", help="run Spack with these arguments in the one ENV"
    )
    return parser


def _act(options: argparse.Namespace) -> int:
    site = SpackSite(options.site)
    chosen = [site.environment(spack_tables.read(name)) for name in options.environments or spack_tables.names()]
    if options.run:
        if len(chosen) != 1:
            raise InstallError("--run needs exactly one ENV: name it before --run")
        return _run_spack(chosen[0], options.run)
    if options.verify:
        return max(_verify(environment) for environment in chosen)
    if options.mirror:
        return _mirror(chosen, options.mirror)

    def install(environment: SpackEnvironment) -> None:
        ensure(environment, options.jobs)
        if options.keep:
            keep_artefacts(environment, options.keep)

    _each(chosen, install)
    return 0


def _each(environments: list[SpackEnvironment], action: Callable[[SpackEnvironment], object]) -> None:
    """Apply ``action`` to each environment, even if one fails.

    :raises InstallError: some failed. The message has the reasons.
    """
    failed = []
    for environment in environments:
        try:
            action(environment)
        except InstallError as err:
            failed.append(f"{environment.table.name}: {err}")
    if failed:
        raise InstallError("\n".join(failed))


def _verify(environment: SpackEnvironment) -> int:
    missing = environment.missing_programs()
    if not environment.record():
        problem = "not installed"
    elif missing:
        problem = f"{environment.view} lacks {', '.join(missing)}"
    elif not environment.up_to_date():
        problem = "out of date: recipes, sources, compilers, Spack or the site's configuration changed"
    else:
        print(f"{environment.name}: complete, {len(environment.table.programs)} programs in {environment.view}")
        return 0
    print(f"{environment.name}: {problem}: run {environment.site.install_command(environment.table.name)}")
    return 1


def _mirror(environments: list[SpackEnvironment], folder: Path) -> int:
    _each(environments, lambda environment: make_mirror(environment, folder))
    install = environments[0].site.install_command(" ".join(environment.table.name for environment in environments))
    print(f"{folder} has the sources; copy it to the other machine, and run there:")
    print(f"  KAPPA_SPACK_CONFIG={mirror_configuration(folder)} {install}")
    return 0


def _run_spack(environment: SpackEnvironment, arguments: list[str]) -> int:
    with exclusive(environment.site):
        spack = prepare(environment)
    command = [*spack.command, *arguments]
    os.execve(command[0], command, spack.variables)


def _list() -> int:
    for name in spack_tables.names():
        print(f"{name}: {', '.join(spack_tables.read(name).features)}")
        for folder in sorted(path.parent.parent for path in state_root().glob(f"*/{name}/installed.json")):
            environment = SpackSite(folder.name).environment(spack_tables.read(name))
            state = "installed" if environment.installed() else "incomplete"
            print(f"  {folder.name}: {state} in {environment.folder}")
    return 0
