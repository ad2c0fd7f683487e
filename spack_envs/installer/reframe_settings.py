"""What a site's ``settings.py`` takes from here: ReFrame's environments for what is installed."""

from typing import Any

from spack_envs.installer import table
from spack_envs.installer.state import Site


def installed_environments(site: str) -> list[dict[str, Any]]:
    """One ReFrame environment for each Spack environment that is completely installed for the site.

    It has the same name, the features and extras of its table, and its programs first on PATH. The site adds what its
    MPI needs. With each result the checksum of ``spack.lock`` is kept.
    """
    found = []
    for name in table.names():
        environment = Site(site).environment(table.read(name))
        if not environment.installed():
            continue
        path = ":".join(map(str, environment.table.folders(environment.view)))
        features = list(environment.table.features)
        hash_files = {feature: [str(environment.lock_file)] for feature in features}
        extras: dict[str, Any] = {**environment.table.extras, "hash_files": hash_files}
        found.append(
            {
                "name": name,
                "features": features,
                "extras": extras,
                "env_vars": [["PATH", f"{path}:$PATH"]],
            }
        )
    return found


def install_commands(site: str) -> dict[str, str]:
    """For each feature that some Spack environment promises, the command that installs it for the site."""
    return {
        feature: Site(site).install_command(name) for name in table.names() for feature in table.read(name).features
    }
