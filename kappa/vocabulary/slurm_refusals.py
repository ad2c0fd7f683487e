"""What Slurm says when it takes no job of a user, and what to do then. What it says of nodes is not among it."""

import re

_YOURS = "`sacctmgr show associations user=$USER` lists yours; name one"
_DOWN = r"contact slurm controller|did not end within|timed out"
_NO_CONFIGURATION = r"configuration source|fetch_config"
# As Slurm's strerror has it -> what to do.
_REMEDIES = {
    _DOWN: "is slurmctld up? `scontrol ping`",
    _NO_CONFIGURATION: "this machine is no client of a Slurm: name its slurm.conf in SLURM_CONF, or go to a login node",
    r"no such program": "load Slurm's module, or put its folder into `path` of site.yaml",
    r"invalid partition": "`sinfo -s` lists what there is; `slurm_partition` in site.yaml names it",
    r"account": f"{_YOURS} by `access` in site.yaml or by -J account=NAME",
    r"qos": f"{_YOURS} by `access` in site.yaml or by -J qos=NAME",
    r"not permitted|permission denied": "ask who runs the cluster, or leave it out by --system=SITE:PARTITION",
    r"reservation": "`scontrol show reservation` lists what there is",
    r"license": "`scontrol show licenses` lists what there is; `access` in site.yaml asks for it",
}


def remedy_of(said: str) -> str | None:
    """What to do about it; ``None`` when it is said of the job or of nodes."""
    return next((remedy for about, remedy in _REMEDIES.items() if re.search(about, said, re.IGNORECASE)), None)


def is_down(said: str) -> bool:
    """Whether it does not answer, or is not known here."""
    return re.search(f"{_DOWN}|{_NO_CONFIGURATION}", said, re.IGNORECASE) is not None
