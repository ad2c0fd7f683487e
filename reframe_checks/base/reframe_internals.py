"""Parts of ReFrame that the suite uses beyond its manual, all in one place, and the versions that it is tested with.

The recipe of a case's hash code is used where nothing of ReFrame may be imported: ``kappa.core.record.model``.
``tests/unit/base/test_reframe_internals.py`` holds all of it against the installed ReFrame, and with
``KAPPA_TEST_REFRAMES=1`` against the oldest and the newest of the range.
"""

import contextlib
import copy
import re
import sys
import types
import warnings
from collections.abc import Sequence

import reframe as rfm
from reframe.core import decorators, fields, variables
from reframe.core.exceptions import ReframeFatalError
from reframe.core.launchers import mpi
from reframe.core.logging import getlogger
from reframe.core.runtime import runtime
from reframe.core.schedulers import slurm
from reframe.core.warnings import ReframeDeprecationWarning, user_deprecation_warning
from reframe.frontend.executors import RegressionTask
from reframe.frontend.reporting import RunReport

from reframe_checks.parsers.slurm import expand_nodes

#: The first version that is tested, and the first that is not: the range in ``pyproject.toml``.
TESTED_FROM, TESTED_BELOW = (4, 10, 2), (4, 11)


def require_tested(version: str) -> None:
    """:raises ReframeFatalError: ReFrame's ``version`` is outside the tested range; ReFrame stops."""
    found = tuple(map(int, re.findall(r"\d+", version)[:3]))
    if not TESTED_FROM <= found < TESTED_BELOW:
        oldest, below = (".".join(map(str, bound)) for bound in (TESTED_FROM, TESTED_BELOW))
        raise ReframeFatalError(
            f"this is ReFrame {version}, and the suite is tested with versions from {oldest} to below {below}: "
            f"pip install 'ReFrame-HPC>={oldest},<{below}'"
        )


class DescribedVariable(variables.TestVar):
    """A variable of a class that also says what it is."""

    # A `TestVar` hands every attribute that is none of its slots to the variable's value.
    __slots__ = (*variables.TestVar.__slots__, "described")


def registered_checks() -> dict[str, type]:
    """Every check class that ReFrame registered in this session, by name."""
    found = {}
    for module in list(sys.modules.values()):
        for cls in getattr(module, "_rfm_test_registry", ()):
            found[cls.__name__] = cls
    return found


#: What ReFrame's ``trap_job_errors`` asks for, in one line instead of nine.
TRAP_ERRORS = """trap 'exitcode=$?; echo "failed (exit code: $exitcode): $BASH_COMMAND"; exit $exitcode' ERR"""


def begin_job_script(job, commands) -> None:
    """Put ``commands`` before all others of the job script, also before what the site's settings prepare."""
    prepare = job.prepare

    def prepare_with(body, environs=None, prepare_cmds=None, *others, trap_errors=False, **options):
        first = [*([TRAP_ERRORS] if trap_errors else []), *commands]
        prepare(body, environs, [*first, *(prepare_cmds or [])], *others, **options)

    job.prepare = prepare_with


def forget_resizing(job) -> None:
    """Leave out that the job lost a node (``--no-kill``): accounting lists it twice then, once as ``RESIZING``, and
    ReFrame would wait for ever for that to end."""
    if job and job.state and "RESIZING" in job.state:
        job._state = ",".join(state for state in job.state.split(",") if state != "RESIZING") or "RUNNING"


def copy_of_ended(check):
    """A copy of a check whose job still runs, for which the job has ended well: it can be judged.

    It shares what belongs to the session: partition, environment, system and fixtures.
    """
    job = copy.copy(check.job)
    job._exitcode = 0
    job.wait = lambda: None
    shared = [check.current_partition, check.current_environ, check.current_system]
    shared += [fixture for fixture in vars(check).values() if isinstance(fixture, rfm.RegressionTest)]
    return copy.deepcopy(check, {id(check.job): job, **{id(one): one for one in shared}})


def judge_by(check, function) -> None:
    """Have ``function``, a deferrable method of ``check``, judge it instead of its class's sanity function."""
    check._rfm_sanity = function


def to_be_judged_in(check, folder: str) -> None:
    """Have a copy of a check judged by its class's own functions on what lies in ``folder``, without references."""
    for name in ("_rfm_sanity", "sanity_patterns"):
        vars(check).pop(name, None)
    check._stagedir, check.reference = folder, {}


def pinned(check) -> bool:
    """Tell whether ReFrame's ``--distribute`` has put the case on a node."""
    return hasattr(check, ".nid")


_ENDS = ("success", "failure", "xfailure", "xsuccess", "skip", "abort")


def when_cases_end(tell) -> None:
    """Have ``tell`` called with each task of ReFrame's that has come to its end; what it raises is a warning."""
    notify = RegressionTask._notify_listeners

    def notify_and_tell(task, callback_name):
        notify(task, callback_name)
        if callback_name.removeprefix("on_task_") in _ENDS:
            try:
                tell(task)
            except Exception as err:
                getlogger().warning(f"{task.testcase}: it is not in the session's journal: {err!r}")

    RegressionTask._notify_listeners = notify_and_tell


def session_info() -> dict:
    """What ReFrame's report says of the session so far: ReFrame has it in its main function, and nowhere else."""
    frame = sys._getframe()
    while frame is not None:
        report, options = frame.f_locals.get("report"), frame.f_locals.get("options")
        if isinstance(report, RunReport):
            words = ",".join(getattr(options, "session_extras", None) or ()).split(",")
            extras = dict(word.split("=", 1) for word in words if "=" in word)
            return {**report["session_info"], **extras}
        frame = frame.f_back
    return {}


def as_reported(task, info) -> tuple[int, dict]:
    """The number of the run of a task that has ended, and the case as ReFrame's report holds it."""
    number, report = runtime().current_run, RunReport()
    report.update_session_info({"uuid": info.get("uuid", "")})
    report.update_run_stats(types.SimpleNamespace(runs=lambda: [(number, [task])]))
    return number, report["runs"][0]["testcases"][0]


_given: set[str] = set()


def note_variables_given() -> None:
    """Note which variables ReFrame's ``--setvar`` sets: afterwards they look like any default of a class.

    ReFrame hands them to the registry of each file that it has loaded, before it makes the file's checks.
    """
    decorators.TestRegistry.setvars = _noting(decorators.TestRegistry.setvars)


def _noting(setvars):
    def noting(registry, given):
        _given.update(given)
        return setvars(registry, given)

    return noting


def given_by_user(check, variable: str) -> bool:
    """Whether ReFrame's ``--setvar`` (``VARIABLE=…`` or ``CLASS.VARIABLE=…``) or ``--parameterize`` set it."""
    return bool({variable, f"{type(check).__name__}.{variable}"} & _given) or hasattr(check, f".{variable}")


def nodes_asked_for(job) -> int:
    """How many nodes ReFrame was told to take by ``-J nodelist=…``; 0 when it was not."""
    found = [option.partition("=")[2] for option in job.cli_options if option.startswith("--nodelist=")]
    found += [option.removeprefix("-w ") for option in job.cli_options if option.startswith("-w ")]
    return len(expand_nodes(found[-1])) if found else 0


def keep_out_nodes_of(access: Sequence[str], job) -> None:
    """Have a job leave aside what the partition's access and what ``-J exclude=…`` exclude: Slurm heeds the last.

    :param access: options of every job of the partition.
    """
    given = _excluded(job.cli_options)
    if given and (kept_out := _excluded(access)):
        job.cli_options.append(f"--exclude={','.join([*given, *kept_out])}")


def _excluded(options: Sequence[str]) -> list[str]:
    found = [option.partition("=")[2] for option in options if option.startswith("--exclude=")]
    return [*found, *(option.removeprefix("-x ") for option in options if option.startswith("-x "))]


def look_for_who_is_warned_only_to_warn() -> None:
    """ReFrame walks its whole stack, which takes milliseconds, to say who uses what is deprecated; twice for each case
    it does so where it has told itself not to say it: most of the time that loading the suite takes."""
    for module in (fields, variables):
        module.user_deprecation_warning = _unless_told_not_to


def _unless_told_not_to(*arguments) -> None:
    action, _, category, *_ = warnings.filters[0]
    if (action, category) != ("ignore", ReframeDeprecationWarning):
        user_deprecation_warning(*arguments)


def ask_slurm_less() -> None:
    """ReFrame starts `srun --version` for each job, and `scontrol show hostname` whenever someone looks where one ran:
    three programs for each case, whose answers are known."""
    slurm._SlurmJob.nodelist = property(_nodes_of)
    mpi.SrunLauncher.__init__ = _first_only(mpi.SrunLauncher.__init__)


def _first_only(init):
    """``init`` of a launcher, run once; all others get what that set."""
    found: dict = {}

    def as_the_first(self):
        if not found:
            init(self)
            found.update(copy.deepcopy(vars(self)))
        vars(self).update(copy.deepcopy(found))

    return as_the_first


def _nodes_of(job) -> list[str]:
    """Return the nodes of a job that has ended; none when Slurm gave it no node ("None assigned")."""
    if not job._nodelist and slurm.slurm_state_completed(job.state):
        with contextlib.suppress(ValueError):
            job._nodelist = expand_nodes(job._nodespec or "")
    return job._nodelist
