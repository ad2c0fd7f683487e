"""What Slurm says when it takes no job of a user, or never starts one, and what to do then.

What it says of nodes is not among it.
"""

import re
from collections.abc import Sequence

_YOURS = "`sacctmgr show associations user=$USER` lists yours; name one"
_DOWN = r"contact slurm controller|did not end within|timed out"
_NO_CONFIGURATION = r"configuration source|fetch_config"
_SHORTER = (
    "`max_time` in site.yaml has jobs ask for less: `scontrol show partition` has MaxTime, `sacctmgr show qos` MaxWall"
)
#: What to do where ``sacct`` does not tell of jobs.
WITHOUT_ACCOUNTING = (
    "`scheduler: squeue` in site.yaml does without accounting; else ask who runs slurmdbd, or where `sacct` is allowed"
)
_LIMIT = r"(?:Assoc|QOS)[A-Za-z]*SubmitJobs?[A-Za-z]*"
# As Slurm's strerror has it -> what to do; the first that fits.
_REMEDIES = {
    _DOWN: "is slurmctld up? `scontrol ping`",
    _NO_CONFIGURATION: "this machine is no client of a Slurm: name its slurm.conf in SLURM_CONF, or go to a login node",
    r"no such program": "load Slurm's module, or put its folder into `path` of site.yaml",
    r"(?:entry|value) for (?:--clusters?|SLURM_CLUSTERS)|no cluster": (
        "`sacctmgr show clusters` lists what there is; `cluster` in site.yaml names it"
    ),
    r"invalid partition": "`sinfo -s` lists what there is; `slurm_partition` in site.yaml names it",
    _LIMIT: "`squeue --me` lists your jobs, `sacctmgr show qos` and `show associations` the limit; `max_jobs` in "
    "site.yaml keeps below it",
    r"PartitionTimeLimit|MaxWall|time limit|job submit limit, user's size": _SHORTER,
    r"GrpCPUMinutes|GrpTRESMinutes|GrpTRESRunMinutes|MinutesPerJob": (
        "the account's budget is used up: `sshare -l`; name another by `access` in site.yaml or by -J account=NAME"
    ),
    r"authentication|credential": (
        "does munged run here, with the key of the cluster, and do this machine's clock and slurmctld's agree?"
        " `munge -n | unmunge`, `timedatectl`"
    ),
    r"account": f"{_YOURS} by `access` in site.yaml or by -J account=NAME",
    r"qos": f"{_YOURS} by `access` in site.yaml or by -J qos=NAME",
    r"not permitted|permission denied": "ask who runs the cluster, or leave it out by --system=SITE:PARTITION",
    r"reservation": "`scontrol show reservation` lists what there is",
    r"license": "`scontrol show licenses` lists what there is; `access` in site.yaml asks for it",
    r"launch.failed": "a node did not start the job, as when its prolog fails: `sinfo -R` and slurmd's log say which",
    r"JobHeld": "`scontrol release` lets it go; who held it?",
}
# Why a job waits (Slurm's job_state_reason.c), of what does not end by itself; of accounts and QOS Slurm before 23.02
# has a sentence, and a node that another job may have is free again some time.
_NEVER_STARTS = re.compile(
    r"(Assoc|QOS)Max[A-Za-z]*Per(Job|Node)(Limit)?\b|(Assoc|QOS)Grp[A-Za-z]*(?<!Run)Minutes(Limit)?\b|QOSMin[A-Z]"
    r"|(Partition(TimeLimit|NodeLimit|Config|Inactive)|MaxMemPerLimit|BadConstraints|DependencyNeverSatisfied)\b"
    r"|(QOSNotAllowed|AccountNotAllowed|InvalidAccount|InvalidQOS|JobHeldAdmin|JobHeldUser|JobHoldMaxRequeue)\b"
    r"|(Reservation(Deleted|Invalid)|DeadLine)\b|launch[ _]failed[ _]requeued[ _]held"
    r"|Job's (account|QOS) not permitted|ReqNodeNotAvail(?!, May be reserved)"
)


def remedy_of(said: str) -> str | None:
    """What to do about it; ``None`` when it is said of the job or of nodes."""
    return next((remedy for about, remedy in _REMEDIES.items() if re.search(about, said, re.IGNORECASE)), None)


def is_down(said: str) -> bool:
    """Whether it does not answer, or is not known here."""
    return re.search(f"{_DOWN}|{_NO_CONFIGURATION}", said, re.IGNORECASE) is not None


def at_limit(said: str) -> str:
    """The limit on this user's jobs that ``sbatch`` names, which ends when others of them do; else nothing."""
    found = re.search(_LIMIT, said)
    return found[0] if found else ""


def never_starts(reason: str, others: Sequence[str]) -> bool:
    """Whether a job that waits for it does so for ever; ``others``: beginnings of reasons that count, too."""
    return _NEVER_STARTS.match(reason) is not None or reason.startswith(tuple(others))


def without_accounting(said: str) -> str:
    """What to say when ``sacct`` says this in place of jobs."""
    return f"Slurm's accounting does not tell how jobs go: {said}; {WITHOUT_ACCOUNTING}"
