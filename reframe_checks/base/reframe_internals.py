"""Undocumented parts of ReFrame that the suite uses, and the range of tested versions.

``kappa.core.record.model`` has the recipe of a case's hash code, because it may not import ReFrame.
``tests/unit/base/test_reframe_internals.py`` tests all of this with the installed ReFrame, and with
``KAPPA_TEST_REFRAMES=1`` also with the oldest and the newest version of the range.
"""

import contextlib
import copy
import re
import sys
import types
import warnings

import reframe as rfm
from reframe.core import decorators, fields, variables
from reframe.core.exceptions import ReframeFatalError
from reframe.core.logging import getlogger
from reframe.core.runtime import runtime
from reframe.core.schedulers import slurm
from reframe.core.warnings import ReframeDeprecationWarning, user_deprecation_warning
from reframe.frontend.executors import RegressionTask
from reframe.frontend.executors.policies import AsynchronousExecutionPolicy
from reframe.frontend.reporting import RunReport

from kappa.core.ground.node_lists import expand_nodes

#: The oldest tested version, and the first version that is too new: the range in ``pyproject.toml``.
TESTED_FROM, TESTED_BELOW = (4, 10, 2), (4, 11)


def require_tested(version: str) -> None:
    """Require a tested version of ReFrame.

    :raises ReframeFatalError: ``version`` is outside the tested range; ReFrame then stops.
    """
    found = tuple(map(int, re.findall(r"\d+", version)[:3]))
    if not TESTED_FROM <= found < TESTED_BELOW:
        oldest, below = (".".join(map(str, bound)) for bound in (TESTED_FROM, TESTED_BELOW))
        raise ReframeFatalError(
            f"this is ReFrame {version}, but the suite is tested with versions from {oldest} to below {below}; "
            f"install one: pip install 'ReFrame-HPC>={oldest},<{below}'"
        )


class DescribedVariable(variables.TestVar):
    """A variable of a class with a description."""

    # A `TestVar` passes access to every attribute without a slot on to the variable's value.
    __slots__ = (*variables.TestVar.__slots__, "described")


def registered_checks() -> dict[str, type]:
    """Return every check class that ReFrame registered in this session: name -> class."""
    found = {}
    for module in list(sys.modules.values()):
        for cls in getattr(module, "_rfm_test_registry", ()):
            found[cls.__name__] = cls
    return found


#: The trap of ReFrame's ``trap_job_errors``, in one line instead of nine.
TRAP_ERRORS = """trap 'exitcode=$?; echo "failed (exit code: $exitcode): $BASH_COMMAND"; exit $exitcode' ERR"""


def begin_job_script(job, commands) -> None:
    """Put ``commands`` before all others of the job script, also before the site's ``prepare_cmds``."""
    prepare = job.prepare

    def prepare_with(body, environs=None, prepare_cmds=None, *others, trap_errors=False, **options):
        first = [*([TRAP_ERRORS] if trap_errors else []), *commands]
        prepare(body, environs, [*first, *(prepare_cmds or [])], *others, **options)

    job.prepare = prepare_with


def forget_resizing(job) -> None:
    """Remove the state ``RESIZING`` from a job that lost a node (``--no-kill``).

    Accounting lists such a job twice, once as ``RESIZING``, and ReFrame would wait forever for the end of this one.
    """
    if job and job.state and "RESIZING" in job.state:
        job._state = ",".join(state for state in job.state.split(",") if state != "RESIZING") or "RUNNING"


def copy_of_ended(check):
    """Return a copy of a check whose job still runs. In the copy, the job has ended well, so the copy can be judged.

    The copy shares the partition, the environment, the system and the fixtures.
    """
    job = copy.copy(check.job)
    job._exitcode = 0
    job.wait = lambda: None
    shared = [check.current_partition, check.current_environ, check.current_system]
    shared += [fixture for fixture in vars(check).values() if isinstance(fixture, rfm.RegressionTest)]
    return copy.deepcopy(check, {id(check.job): job, **{id(one): one for one in shared}})


def judge_by(check, function) -> None:
    """Replace the sanity function of ``check`` by ``function``, a deferrable method of ``check``."""
    check._rfm_sanity = function


def to_be_judged_in(check, folder: str) -> None:
    """Prepare a copy of a check so that its class's functions judge the output in ``folder``, without references."""
    for name in ("_rfm_sanity", "sanity_patterns"):
        vars(check).pop(name, None)
    check._stagedir, check.reference = folder, {}


def given_place(check, partition, folder: str, job) -> None:
    """Prepare a check that ReFrame has not set up, so that it can judge the output of ``job`` in ``folder``."""
    check._current_partition, [check._current_environ] = partition, partition.environs
    check._stagedir, check._job, check.reference = str(folder), job, {}


def pinned(check) -> bool:
    """Tell whether ReFrame's ``--distribute`` has put the case on a node."""
    return hasattr(check, ".nid")


_ENDS = ("success", "failure", "xfailure", "xsuccess", "skip", "abort")


def when_cases_end(tell) -> None:
    """Call ``tell`` with each ReFrame task that has ended; an exception of ``tell`` becomes a warning."""
    notify = RegressionTask._notify_listeners

    def notify_and_tell(task, callback_name):
        notify(task, callback_name)
        if callback_name.removeprefix("on_task_") in _ENDS:
            try:
                tell(task)
            except Exception as err:
                getlogger().warning(f"{task.testcase}: cannot note the case in the session's journal: {err!r}")

    RegressionTask._notify_listeners = notify_and_tell


def session_info() -> dict:
    """Return ReFrame's information about the session so far, from a local variable of ReFrame's main function."""
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
    """Return the run number of a task that has ended, and the case as in ReFrame's report."""
    number, report = runtime().current_run, RunReport()
    report.update_session_info({"uuid": info.get("uuid", "")})
    report.update_run_stats(types.SimpleNamespace(runs=lambda: [(number, [task])]))
    return number, report["runs"][0]["testcases"][0]


def free_places_of_failed_cases() -> None:
    """Free the place of a case that fails after its job, for instance in a hook.

    ReFrame 4.10 counts it as running for ever: after ``max_jobs`` such cases it would start no other, and never end.
    """
    execute = AsynchronousExecutionPolicy._exec_stage

    def execute_and_free(policy, task, stages):
        done = execute(policy, task, stages)
        if not done:
            for places in policy._partition_tasks.values():
                places.discard(task)
        return done

    AsynchronousExecutionPolicy._exec_stage = execute_and_free


_given: set[str] = set()


def note_variables_given() -> None:
    """Note which variables ReFrame's ``--setvar`` sets, because afterwards they look like defaults of a class.

    ReFrame passes them to the registry of each loaded file before it makes the file's checks.
    """
    setvars = decorators.TestRegistry.setvars

    def noting(registry, given):
        _given.update(given)
        return setvars(registry, given)

    decorators.TestRegistry.setvars = noting


def given_by_user(check, variable: str) -> bool:
    """Tell whether ``--setvar`` (``VARIABLE=…`` or ``CLASS.VARIABLE=…``) or ``--parameterize`` set the variable."""
    return bool({variable, f"{type(check).__name__}.{variable}"} & _given) or hasattr(check, f".{variable}")


def look_for_who_is_warned_only_to_warn() -> None:
    """Skip ReFrame's search for the caller of a deprecated feature if the warning is suppressed anyway.

    The search walks the whole stack, takes milliseconds, and happens twice for each case. It was most of the time to
    load the suite.
    """
    for module in (fields, variables):
        module.user_deprecation_warning = _unless_told_not_to


def _unless_told_not_to(*arguments) -> None:
    action, _, category, *_ = warnings.filters[0]
    if (action, category) != ("ignore", ReframeDeprecationWarning):
        user_deprecation_warning(*arguments)


def ask_slurm_less() -> None:
    """Expand the list of a job's nodes here: ReFrame starts `scontrol show hostname` for each access to it."""
    slurm._SlurmJob.nodelist = property(_nodes_of)


def _nodes_of(job) -> list[str]:
    """Return the nodes of a job that has ended; none if Slurm gave it no node ("None assigned")."""
    if not job._nodelist and slurm.slurm_state_completed(job.state):
        with contextlib.suppress(ValueError):
            job._nodelist = expand_nodes(job._nodespec or "")
    return job._nodelist
