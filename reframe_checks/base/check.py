"""The base of every check: it composes the plug-ins, and selects partitions and environments by feature.

A check (a leaf class) sets its command after ``setup``. Plug-ins add their lines to the job script before ``run``.
"""

import itertools
import pathlib
import re
import shlex

import reframe as rfm
import reframe.core.builtins as rfmb
import reframe.utility.typecheck as typ
from reframe.core.exceptions import ReframeError, SanityError
from reframe.core.runtime import runtime

from kappa.core.ground.clean_text import one_line
from kappa.core.ground.whole_files import read_bytes, read_text
from kappa.core.vocabulary.features import SIMULATED
from kappa.core.vocabulary.modes import MODES, modes_here
from reframe_checks.base.case_journal import keep_journal
from reframe_checks.base.cases import Parameters, Registered, StatedCost, Tuning
from reframe_checks.base.evidence import EvidenceRecorder
from reframe_checks.base.hang_watch import FirstNodeBegins, HangWatch
from reframe_checks.base.job_files import InImage
from reframe_checks.base.kept_state import KeptState, kept_file
from reframe_checks.base.load_watch import LoadWatch
from reframe_checks.base.metrics import References, Strictness
from reframe_checks.base.patient_slurm import outlast_slurm, wait_at_limit
from reframe_checks.base.provenance import ProvenanceRecorder
from reframe_checks.base.reframe_internals import (
    ask_slurm_less,
    free_places_of_failed_cases,
    keep_out_nodes_of,
    look_for_who_is_warned_only_to_warn,
    note_variables_given,
    require_tested,
)
from reframe_checks.base.same_allocation import SameAllocation
from reframe_checks.base.simulated import Simulated
from reframe_checks.base.spack import SpackPrograms
from reframe_checks.base.steps import Launching
from reframe_checks.parsers.text import ParseError

require_tested(rfm.VERSION)
look_for_who_is_warned_only_to_warn()
ask_slurm_less()
note_variables_given()
outlast_slurm()
wait_at_limit()
free_places_of_failed_cases()
keep_journal()

# The default modes of a check; a check tags itself for other modes.
EVERY_MODE = ("nightly", "acceptance")
# Limits the memory of the login node if a program writes without end.
MAX_OUTPUT_BYTES = 256 * 2**20
MAX_ERROR_CHARS = 300
# srun and slurmstepd write the exit code of tasks, which is no cause.
_ERROR = re.compile(r"(?!srun: |slurmstepd)(?=.*\berror\b)", re.IGNORECASE)


def feature_choices(needs):
    """Return each tuple of features that satisfies ``needs``; ``a|b`` in ``needs`` means one of the two."""
    return list(itertools.product(*(need.split("|") for need in needs)))


class SystemCheck(
    rfm.RunOnlyRegressionTest, InImage, Parameters, Strictness, References, EvidenceRecorder, ProvenanceRecorder,
    Tuning, Launching, LoadWatch, HangWatch, SameAllocation, Simulated, Registered, StatedCost, FirstNodeBegins,
    KeptState, special=True,
):  # fmt: skip
    """A run-only check of the system itself; it runs no program of an environment.

    Leaf classes define ``family``, ``needs_*``, the command, the sanity function and the metrics.

    A partition gives its number of ``nodes`` in ``extras``, and the limit for waiting jobs in ``max_pending_time``.
    The number of cores per node comes from its ``processor``.
    """

    #: The subject of the check, as ``folder/subject``; a site's expectations name families.
    family = rfmb.variable(str, loggable=True)
    #: Meaning of a failure of the check, and the remedy: one or two plain sentences, for its page.
    failure_means = rfmb.variable(str, value="")
    #: Features that a partition must have (scales add theirs).
    needs_partition = rfmb.variable(typ.List[str], value=[])
    #: Features that an environment must have: the programs to run. ``a|b`` means one of the two.
    needs_environ = rfmb.variable(typ.List[str], value=[])
    #: Time of a case from the start of its job to its end, s: measured on the embedded site, …
    measured_s = rfmb.variable(float, int, value=0, loggable=True)
    #: … or, for a check that cannot run there, an estimate for its intended hardware. A leaf sets one of the two.
    estimated_s = rfmb.variable(float, int, value=0, loggable=True)
    #: All features that a partition needs for this case, for the catalogue.
    case_features = rfmb.variable(typ.List[str], value=[])
    #: Modes in which the check runs, besides those in its tags.
    modes = EVERY_MODE
    #: Nodes of the partition that the check leaves out; the check must exclude them from its job, too.
    without_nodes = rfmb.variable(typ.List[str], value=[])
    check_class = rfmb.variable(str, value="", loggable=True)
    #: The largest number of nodes that a case on the whole partition takes; 0: no limit.
    most_nodes = rfmb.variable(int, value=0)
    #: Number of nodes of the partition, from the site.
    partition_size = rfmb.variable(int, value=0, loggable=True)

    time_limit = "10m"
    exclusive_access = True

    @rfmb.run_after("init")
    def require_features(self):
        self.check_class = type(self).__name__
        self.tags = {*self.tags - {*MODES}, self.family.split("/")[0], *self.modes_here()}
        self.case_features = [*self.needs_partition, *self.chosen_features()]
        wanted = [f"+{feature}" for feature in self.case_features]
        self.valid_systems = [" ".join(wanted if self.on_fabrics else [*wanted, f"-{SIMULATED}"]) or "*"]
        self.valid_prog_environs = [
            " ".join(f"+{feature}" for feature in choice) or "*" for choice in feature_choices(self.needs_environ)
        ]

    @classmethod
    def modes_here(cls):
        """Return the modes in which the check runs on the current site.

        These are its own modes and ``full``, plus the modes in ``also_in`` and without those in ``not_in`` of the
        site's partitions.
        """
        also_in, not_in = (
            [partition.extras.get(extra, {}) for partition in runtime().system.partitions]
            for extra in ("also_in", "not_in")
        )
        return modes_here(cls.__name__, {*cls.modes, *cls.tags & {*MODES}}, also_in, not_in)

    def chosen_scale(self):
        """Return the row of the scale table that this case uses, or ``None``."""
        return None

    def chosen_features(self):
        """Return the partition features that this case needs besides ``needs_partition``."""
        scale = self.chosen_scale()
        return [scale.feature] if scale else []

    @classmethod
    def alternative_features(cls):
        """Return for each case of the class the partition features that it needs besides ``needs_partition``."""
        return [[]]

    @rfmb.run_after("setup")
    def lay_out_ranks(self):
        extras = self.current_partition.extras
        self.partition_size = extras.get("nodes", 0)
        if "max_pending_time" in extras:
            self.max_pending_time = extras["max_pending_time"]
        if "max_time" in extras:
            self.no_longer_than(extras["max_time"])
        scale = self.chosen_scale()
        if scale is None:
            return
        at_hand = min(self.partition_nodes, self.most_nodes or self.partition_nodes)
        nodes, ranks = scale.layout(at_hand, self.cores_per_node)
        self.num_tasks, self.num_tasks_per_node = nodes * ranks, ranks

    @rfmb.run_before("run")
    def keep_out_other_kinds(self):
        keep_out_nodes_of(self.current_partition.access, self.job)

    @property
    def partition_nodes(self):
        """The number of nodes that the site states for the partition, without the nodes that the check leaves out."""
        return self.stated("extras/nodes", self.current_partition.extras.get("nodes")) - len(self.without_nodes)

    @property
    def cores_per_node(self):
        """The number of physical cores of a node, from the site's ``processor`` entry."""
        return self.stated("processor/num_cpus", self.current_partition.processor.num_cores or None)

    def stated(self, key, value):
        """Return ``value``.

        :raises ReframeError: it is ``None``: the site does not state ``key`` for the partition.
        """
        if value is None:
            raise ReframeError(f"partition {self.current_partition.fullname}: the site's settings must give {key}")
        return value

    @property
    def num_nodes_used(self):
        return self.num_tasks // (self.num_tasks_per_node or 1)

    def require_all_nodes(self, nodes):
        """Return True if ``nodes`` has every node of the job; for use in sanity functions.

        :raises SanityError: a node is missing.
        """
        missing = set(self.provenance["nodelist"]) - set(nodes)
        if missing:
            raise SanityError(f"the output has no figure from {', '.join(sorted(missing))}")
        return True

    # After the hooks of the plug-ins, before the hooks of the leaf.
    @rfmb.run_before("run")
    def note_commands_of_job(self):
        self.commands_of_job = list(self.prerun_cmds)

    def run_complete(self):
        """Answer whether the job has ended. ReFrame calls this at each poll, and has no hook there."""
        if self.job and not self.is_dry_run():
            self.answer_held_job()
            self.look_for_first_node()
        return super().run_complete()

    @rfmb.run_before("sanity")
    def say_why_the_job_failed(self):
        """Raise what a failed job says. ReFrame would say its exit code and not read the outputs."""
        code = 0 if self.is_dry_run() else self.job.exitcode
        if code:
            try:
                why = self.why_failed()
            except (ParseError, SanityError) as err:  # it ended before it wrote its outputs
                why = str(err)
            raise SanityError(": ".join(filter(None, [f"job exited with exit code {code}", why])))

    def why_failed(self):
        """Return the first error in the job's standard error that Slurm did not write, or an empty string.

        A check whose outputs say more returns that, and makes the node at fault a suspect.
        """
        lines = self.output_text(str(self.stderr)).splitlines()
        return next((one_line(line, MAX_ERROR_CHARS) for line in lines if _ERROR.match(line)), "")

    def output_text(self, name=None):
        """Return the text of the job's standard output, or of the stage folder's file ``name``, and keep the file."""
        if not name:
            return self.what_is_in(str(self.stdout), read_text, errors="replace")
        return self.what_is_in(self.kept(name), read_text, errors="replace")

    def output_bytes(self, name):
        """Return the bytes of the file ``name`` in the stage folder, and keep the file."""
        return self.what_is_in(self.kept(name), read_bytes)

    def kept(self, name):
        """Have ReFrame keep the file ``name`` of the stage folder as raw output, and return ``name``."""
        # ReFrame copies the files that exist, and leaves the stage folder of a failed check.
        self.keep_files = [*self.keep_files, name]
        return name

    def what_is_in(self, name, read, **how):
        path = pathlib.Path(self.stagedir, name)
        if self.reads_again:
            path = kept_file(path, self.stagedir)
        try:
            return read(path, MAX_OUTPUT_BYTES, **how)
        except OSError as err:
            raise SanityError(f"cannot read {name}: {err.strerror}") from err

    def parsed(self, parse, text, **kwargs):
        """Return ``parse(text)``.

        :raises SanityError: the parser refused the text.
        """
        self.note_lines_of_others(text)
        try:
            return parse(text, **kwargs)
        except ParseError as err:
            raise SanityError(str(err)) from None


class KappaCheck(SystemCheck, SpackPrograms):
    """A run-only check that runs programs of an environment."""

    @rfmb.run_after("setup")
    def take_program(self):
        """Run the program that the fixture ``build`` has built, if the check has this fixture."""
        if hasattr(self, "build"):
            self.program = self.build.command
            self.programs, self.executable = [self.program], shlex.quote(self.program)
