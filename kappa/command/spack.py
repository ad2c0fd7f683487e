"""``kappa spack install``: the installer of ``spack_envs``, which runs without any Python environment, too."""

from kappa.command.arguments import parser
from kappa.sites.expected import check_site
from spack_envs.installer.cli import main


def run(arguments: list[str]) -> int:
    words = parser("spack", "Spack environments of the suite, installed for a site; see docs/spack.md.")
    actions = words.add_subparsers(required=True, metavar="ACTION")
    actions.add_parser("install", add_help=False, help="install or verify them; --help says more")
    words.parse_args(arguments[:1])
    return main(arguments[1:], program="kappa spack install", check_site=check_site)
