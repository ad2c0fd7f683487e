"""What the suite uses of ReFrame beyond its manual, all in one place, and the versions of ReFrame it is tested with.

The recipe of a case's hash code is used where nothing of ReFrame may be imported: ``kappa.record.parameters``.
``tests/unit/base/test_reframe_internals.py`` holds all of it against the installed ReFrame, and with
``KAPPA_TEST_REFRAMES=1`` against the oldest and the newest of the range.
"""

import copy
import re
import sys
import warnings

import reframe as rfm
from reframe.core import fields, variables
from reframe.core.exceptions import ReframeFatalError
from reframe.core.warnings import ReframeDeprecationWarning, user_deprecation_warning

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


def registered_checks() -> dict[str, type]:
    """Every check class that ReFrame registered in this session, by name."""
    found = {}
    for module in list(sys.modules.values()):
        for cls in getattr(module, "_rfm_test_registry", ()):
            found[cls.__name__] = cls
    return found


def begin_job_script(job, commands) -> None:
    """Put ``commands`` before all others of the job script, also before what the site's settings prepare.

    What ReFrame's ``trap_job_errors`` asks for takes one line instead of nine.
    """
    prepare = job.prepare
    trap = """trap 'exitcode=$?; echo "failed (exit code: $exitcode): $BASH_COMMAND"; exit $exitcode' ERR"""

    def prepare_with(body, environs=None, prepare_cmds=None, *others, trap_errors=False, **options):
        first = [*([trap] if trap_errors else []), *commands]
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


def look_for_who_is_warned_only_to_warn() -> None:
    """ReFrame walks its whole stack, which takes milliseconds, to say who uses what is deprecated; twice for each case
    it does so where it has told itself not to say it: most of the time that loading the suite takes."""
    for module in (fields, variables):
        module.user_deprecation_warning = _unless_told_not_to


def _unless_told_not_to(*arguments) -> None:
    action, _, category, *_ = warnings.filters[0]
    if (action, category) != ("ignore", ReframeDeprecationWarning):
        user_deprecation_warning(*arguments)
