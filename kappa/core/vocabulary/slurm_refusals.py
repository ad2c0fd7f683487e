"""Slurm's messages when it refuses a user's job or never starts it, each with a remedy.

Messages about nodes are not included.
"""

import re
from collections.abc import Sequence

_YOURS = "`sacctmgr show associations user=$USER` lists your accounts and QOS; set one"
_DOWN = r"contact slurm controller|did not end within|timed out"
_NO_CONFIGURATION = r"configuration source|fetch_config"
_SHORTER = (
    "set a smaller `max_time` in site.yaml; `scontrol show partition` shows MaxTime, `sacctmgr show qos` MaxWall"
)
#: The remedy if ``sacct`` does not report jobs.
WITHOUT_ACCOUNTING = (
    "set `scheduler: squeue` in site.yaml to work without accounting, or ask the operator to make slurmdbd and `sacct` "
    "available"
)
_LIMIT = r"(?:Assoc|QOS)[A-Za-z]*SubmitJobs?[A-Za-z]*"
# Pattern of the message (mostly Slurm's strerror) -> remedy; the first match counts.
_REMEDIES = {
    _DOWN: "is slurmctld up? `scontrol ping`",
    _NO_CONFIGURATION: "this machine is not a Slurm client: set SLURM_CONF to its slurm.conf, or use a login node",
    r"no such program": "if Slurm has a module, load it",
    r"(?:entry|value) for (?:--clusters?|SLURM_CLUSTERS)|no cluster": (
        "`sacctmgr show clusters` lists the clusters; set `cluster` in site.yaml to one of them"
    ),
    r"invalid partition": "`sinfo -s` lists the partitions; set `slurm_partition` in site.yaml to one of them",
    _LIMIT: "`squeue --me` lists your jobs, `sacctmgr show qos` and `show associations` show the limit; set `max_jobs` "
    "in site.yaml below it",
    r"PartitionTimeLimit|MaxWall|time limit|job submit limit, user's size": _SHORTER,
    r"GrpCPUMinutes|GrpTRESMinutes|GrpTRESRunMinutes|MinutesPerJob": (
        "the account's budget is used up (`sshare -l`): set another by `access` in site.yaml or by -J account=NAME"
    ),
    r"authentication|credential": (
        "check that munged runs here with the cluster's key (`munge -n | unmunge`), and that this machine's clock "
        "agrees with slurmctld's (`timedatectl`)"
    ),
    r"account": f"{_YOURS} by `access` in site.yaml or by -J account=NAME",
    r"qos": f"{_YOURS} by `access` in site.yaml or by -J qos=NAME",
    r"not permitted|permission denied": "ask the operator, or leave the partition out by --system=SITE:PARTITION",
    r"reservation": "`scontrol show reservation` lists the reservations",
    r"license": "`scontrol show licenses` lists the licenses; request one by `access` in site.yaml",
    r"launch.failed": "a node did not start the job, for instance because its prolog failed: see `sinfo -R` and "
    "slurmd's log",
    r"JobHeld": "ask who held the job; `scontrol release` releases it",
}
# Reasons for which a job waits and which do not end (Slurm's job_state_reason.c). Slurm before 23.02 has sentences for
# accounts and QOS. A node that another job may use becomes free again, so this reason is not included.
_NEVER_STARTS = re.compile(
    r"(Assoc|QOS)Max[A-Za-z]*Per(Job|Node)(Limit)?\b|(Assoc|QOS)Grp[A-Za-z]*(?<!Run)Minutes(Limit)?\b|QOSMin[A-Z]"
    r"|(Partition(TimeLimit|NodeLimit|Config|Inactive)|MaxMemPerLimit|BadConstraints|DependencyNeverSatisfied)\b"
    r"|(QOSNotAllowed|AccountNotAllowed|InvalidAccount|InvalidQOS|JobHeldAdmin|JobHeldUser|JobHoldMaxRequeue)\b"
    r"|(Reservation(Deleted|Invalid)|DeadLine)\b|launch[ _]failed[ _]requeued[ _]held"
    r"|Job's (account|QOS) not permitted|ReqNodeNotAvail(?!, May be reserved)"
)


def remedy_of(said: str) -> str | None:
    """Return the remedy for Slurm's message ``said``; ``None`` if the message is about the job or about nodes."""
    return next((remedy for about, remedy in _REMEDIES.items() if re.search(about, said, re.IGNORECASE)), None)


def is_down(said: str) -> bool:
    """Return whether the message says that Slurm does not answer, or that this machine has no Slurm configuration."""
    return re.search(f"{_DOWN}|{_NO_CONFIGURATION}", said, re.IGNORECASE) is not None


def at_limit(said: str) -> str:
    """Return the limit of this user's jobs that ``sbatch`` names, or an empty string.

    Such a limit allows new jobs when other jobs of the user have ended.
    """
    found = re.search(_LIMIT, said)
    return found[0] if found else ""


def never_starts(reason: str, others: Sequence[str]) -> bool:
    """Return whether a job that waits for ``reason`` never starts; ``others`` are beginnings of more such reasons."""
    return _NEVER_STARTS.match(reason) is not None or reason.startswith(tuple(others))


def without_accounting(said: str) -> str:
    """Return the message for a user if ``sacct`` prints ``said`` instead of jobs."""
    return f"Slurm's accounting does not report jobs: {said}; {WITHOUT_ACCOUNTING}"
