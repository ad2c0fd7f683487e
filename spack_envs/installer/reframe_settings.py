"""What a site's ``settings.py`` takes from here: ReFrame's environments for what Spack installs."""

import shlex
from typing import Any

from kappa.core.vocabulary import spack_tables
from spack_envs.installer.state import Environment, Site


def installed_environments(site: str) -> list[dict[str, Any]]:
    """The ReFrame environments of the Spack environments that are completely installed for the site, and of those for
    which a person chose a spec: a run installs these first."""
    return [described for described, environment in _all(site) if environment.installed() or environment.roots]


def planned_environments(site: str) -> list[dict[str, Any]]:
    """Those of every Spack environment of the suite: a run first installs what is missing, a dry run does not."""
    return [described for described, _ in _all(site)]


def environment_names(site: str) -> dict[str, str]:
    """For each Spack environment of the suite, the name that ReFrame has for it."""
    return {environment.table.name: environment.name for _, environment in _all(site)}


def _all(site: str) -> list[tuple[dict[str, Any], Environment]]:
    environments = [Site(site).environment(spack_tables.read(name)) for name in spack_tables.names()]
    return [(_described(environment), environment) for environment in environments]


def _described(environment: Environment) -> dict[str, Any]:
    """It has its name, the features and extras of its table, and its programs first on PATH.

    The site adds what its MPI needs. With each result the checksum of ``spack.lock`` is kept.
    """
    path = ":".join(map(str, environment.table.folders(environment.view)))
    # ReFrame ends a job at a command that fails; of such scripts many do, and what they did not set is missed later.
    settings = [f". {shlex.quote(str(environment.view / script))} || true" for script in environment.table.settings]
    features = list(environment.table.features)
    hash_files = {feature: [str(environment.lock_file)] for feature in features}
    return {
        "name": environment.name,
        "features": features,
        "extras": {**environment.table.extras, "hash_files": hash_files},
        "prepare_cmds": settings,
        "env_vars": [["PATH", f"{path}:$PATH"]],
    }


def install_commands(site: str) -> dict[str, str]:
    """For each feature that some Spack environment promises, the command that installs it for the site."""
    return {
        feature: Site(site).install_command(name)
        for name in spack_tables.names()
        for feature in spack_tables.read(name).features
    }
