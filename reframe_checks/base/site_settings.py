"""Make ReFrame's settings from a site's ``site.yaml``."""

import contextlib
import os
import pathlib
from collections.abc import Mapping
from typing import Any

import msgspec

from kappa.core.ground.errors import InputError
from kappa.core.sites.description import Cores, Environment, Partition
from kappa.core.sites.load import Site
from kappa.core.sites.site_file import CLUSTER_VARIABLE, SiteDescription, describe
from kappa.core.vocabulary.extras import EnvironmentExtras, PartitionExtras
from kappa.core.vocabulary.modes import reframe_modes
from spack_envs.installer.reframe_settings import environment_names, installed_environments, planned_environments

#: Environment variable in which `kappa validate` gives the mode: a mode may leave partitions out.
MODE_VARIABLE = "KAPPA_MODE"
_PARTITION_EXTRAS = {field.name for field in msgspec.structs.fields(PartitionExtras)} - {"storage"}
_ENVIRONMENT_EXTRAS = {field.name for field in msgspec.structs.fields(EnvironmentExtras)}


def site_configuration_of(folder: pathlib.Path) -> dict[str, Any]:
    """Return the ``site_configuration`` of the site in ``folder``, and set its environment variables.

    :raises ConfigError: a file of the site cannot be used; ReFrame shows the message and ends.
    """
    # Imported here: only ReFrame reads these settings.
    from reframe.core.exceptions import ConfigError  # type: ignore[import-untyped]  # noqa: PLC0415
    from reframe.core.logging import log_files  # type: ignore[import-untyped]  # noqa: PLC0415

    # ReFrame's built-in settings opened a new file in /tmp, which ReFrame never removes. Outside of a ReFrame session
    # there is no logger.
    with contextlib.suppress(AttributeError):
        for opened in log_files():
            pathlib.Path(opened).unlink(missing_ok=True)
    try:
        whole = Site(folder)
        whole.require_sound()
        # `describe` raises the message if there is no description.
        site = whole.description or describe(folder)
        results = pathlib.Path(os.environ.get("KAPPA_RESULTS") or site.base / "results" / site.name)
        settings = settings_of(site, results)
    except InputError as err:
        raise ConfigError(f"the site {folder.name} cannot be used\n{err}") from None
    # ReFrame 4.10 has general/reference_prefix, but its schema refuses the key in a settings file.
    os.environ.setdefault("RFM_REFERENCE_PREFIX", str(folder / "references"))
    for path in reversed(site.described.path):
        os.environ["PATH"] = f"{site.base / path}{os.pathsep}{os.environ['PATH']}"
    if site.described.cluster:
        os.environ[CLUSTER_VARIABLE] = site.described.cluster
    return settings


def settings_of(site: SiteDescription, results: pathlib.Path) -> dict[str, Any]:
    """Return the ``site_configuration`` of the site, with results below ``results``."""
    described = site.described
    environments = _environments(site)
    offered = [environment["name"] for environment in environments]
    mode = os.environ.get(MODE_VARIABLE)
    if {one.launcher for one in described.partitions.values()} & {"smpirun", "mpiexec.hydra"}:
        from kappa.core.sites import launchers  # noqa: F401, PLC0415 (ReFrame then knows them)
    names = environment_names(site.name)
    polling = {key: getattr(described, key) for key in ("poll_rate_min", "poll_rate_max")}
    log_level = os.environ.get("KAPPA_LOG_LEVEL")
    return {
        "systems": [
            {
                "name": site.name,
                "descr": described.descr,
                "hostnames": [".*"],
                "prefix": str(results),
                "modules_system": described.modules_system,
                "partitions": [
                    _partition(site, name, offered, names)
                    for name, partition in described.partitions.items()
                    if not (mode and partition.modes) or mode in partition.modes
                ],
                **({"max_local_jobs": os.cpu_count() or 1} if described.fabrics else {}),
            }
        ],
        "environments": environments,
        "modes": reframe_modes(),
        "general": [
            {
                "report_file": str(results / "reports/run-report-{sessionid}.json"),
                "trap_job_errors": True,
                **_stated(polling),
            }
        ],
        # No perflogs: nothing reads them, and they would have untrusted text of jobs. The log messages of each poll
        # would take most of ReFrame's time, a third of a core, even if no handler keeps them.
        "logging": [
            {
                "level": log_level or "verbose",
                # Without a name, ReFrame makes a new file in /tmp at each call and never removes it.
                "handlers": [{"type": "file", "level": log_level}] if log_level else [],
                "handlers_perflog": [],
            }
        ],
        # ReFrame gives the database this mode whatever the umask.
        "storage": [
            {
                "enable": True, "backend": "sqlite", "sqlite_db_file": str(results / "results.db"),
                "sqlite_db_file_mode": "600",
            }
        ],
    }  # fmt: skip


def _partition(site: SiteDescription, name: str, offered: list[str], names: Mapping[str, str]) -> dict[str, Any]:
    stated = site.described.partitions[name]
    options = [{"name": "_rfm_gpu", "options": stated.gpu_options}] if stated.gpu_options else None
    devices = [{"type": "gpu", "arch": stated.gpu_arch, "num_devices": stated.gpus_per_node}]
    return {
        "name": name,
        "descr": stated.descr or name,
        "scheduler": stated.scheduler,
        "launcher": stated.launcher,
        # ReFrame takes a job that Slurm ended for ended: if JobRequeue=1 ran it again, no check would own it.
        # On one line: job scripts are short.
        "access": [f"--partition={stated.slurm_partition or name} --no-requeue", *stated.access]
        if stated.scheduler != "local"
        else stated.access,
        "environs": [one for listed in stated.environments if (one := names.get(listed, listed)) in offered],
        "max_jobs": stated.max_jobs,
        "features": site.features_of(name),
        "processor": msgspec.to_builtins(stated.processor) if stated.processor else _processor(stated.cores),
        "sched_options": _scheduler_options(site, stated) if stated.scheduler != "local" else {},
        "prepare_cmds": stated.prepare_cmds,
        "extras": _partition_extras(stated),
        **_stated({"resources": options, "devices": devices if stated.gpu_arch else None}),
        **({"container_platforms": [{"type": stated.container}]} if stated.container else {}),
    }


def _scheduler_options(site: SiteDescription, stated: Partition) -> dict[str, Any]:
    options = stated.sched_options
    return {
        "use_nodes_option": True,
        **msgspec.to_builtins(options),
        # patient_slurm.py decides which reasons never end; ReFrame's default list is not used.
        "slurm_job_cancel_reasons": options.slurm_job_cancel_reasons,
        # sacct is the only command that ignores the variable.
        **({"slurm_multi_cluster_mode": [site.described.cluster]} if site.described.cluster else {}),
    }


def _partition_extras(stated: Partition) -> dict[str, Any]:
    storage = {target: entry.path for target, entry in stated.storage.items()}
    lustre = {target: msgspec.to_builtins(entry.lustre) for target, entry in stated.storage.items() if entry.lustre}
    extras = {key: msgspec.to_builtins(getattr(stated, key)) for key in _PARTITION_EXTRAS}
    return _stated({**extras, "storage": storage or None, "lustre": lustre or None})


def _processor(cores: Cores | None) -> dict[str, Any]:
    assert cores is not None
    count = cores.per_node

    def masks(parts: int) -> list[str]:
        size = count // parts
        return [hex((2**size - 1) << (size * part)) for part in range(parts)]

    found: dict[str, Any] = {
        "num_cpus": count,
        "num_cpus_per_core": 1,
        "num_sockets": cores.sockets,
        "num_cpus_per_socket": count // cores.sockets,
    }
    if cores.numa_domains:
        parts = {"cores": count, "sockets": cores.sockets, "numa_nodes": cores.numa_domains}
        found["topology"] = {key: masks(number) for key, number in parts.items()}
    return found


def _environments(site: SiteDescription) -> list[dict[str, Any]]:
    """Return the environments that partitions list, from the site and from Spack."""
    described = site.described
    listed = site.environment_names
    names = environment_names(site.name)
    of_spack = {names[name] for name in listed if name in names}
    spack = installed_environments(site.name) if described.spack.installed_only else planned_environments(site.name)
    return [
        *(_environment(site, name, described.environments[name]) for name in listed if name in described.environments),
        *(
            {
                **one,
                "features": [*one["features"], *described.spack.features],
                "env_vars": [*one["env_vars"], *_pairs(described.env_vars), *_pairs(described.spack.env_vars)],
            }
            for one in spack
            if one["name"] in of_spack
        ),
    ]


def _environment(site: SiteDescription, name: str, stated: Environment) -> dict[str, Any]:
    extras = {key: msgspec.to_builtins(getattr(stated, key)) for key in _ENVIRONMENT_EXTRAS}
    extras["build_dir"] = str(site.base / stated.build_dir) if stated.build_dir else None
    image = str(site.base / stated.image) if stated.image else None
    hashed = {
        feature: [file for path in paths for file in _files(site.base, path)]
        for feature, paths in stated.hash_files.items()
    }
    of_image = {feature: [*hashed.get(feature, []), image] for feature in stated.features} if image else {}
    extras["image"], extras["hash_files"] = image, {**hashed, **of_image} or None
    path = ":".join(str(site.base / folder) for folder in stated.path)
    return {
        "name": name,
        "features": stated.features,
        "extras": _stated(extras),
        "modules": stated.modules,
        "prepare_cmds": stated.prepare_cmds,
        **_stated({"cc": stated.cc, "cxx": stated.cxx}),
        "env_vars": [
            *([["PATH", f"{path}:$PATH"]] if path else []),
            *_pairs(site.described.env_vars),
            *_pairs(stated.env_vars),
        ],
    }


def _files(base: pathlib.Path, path: str) -> list[str]:
    """Return the files that the pattern matches now, or the path itself if it is no pattern."""
    if "*" not in path:
        return [str(base / path)]
    start = pathlib.Path("/") if path.startswith("/") else base
    return sorted(map(str, start.glob(path.lstrip("/"))))


def _pairs(variables: Mapping[str, str | int]) -> list[list[str]]:
    return [[name, str(value)] for name, value in variables.items()]


def _stated(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``values`` without the keys that the site does not state."""
    return {key: value for key, value in values.items() if value not in (None, [], {})}
