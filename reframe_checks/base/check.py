"""The base of every check: composes the plug-ins and asks the site for what a check needs, by feature.

Leaves set their command after ``setup``; what is added to the job script for every check comes before ``run``.
"""

import itertools
import pathlib
import shlex

import reframe as rfm
import reframe.core.builtins as rfmb
import reframe.utility.typecheck as typ
from reframe.core.exceptions import ReframeError, SanityError
from reframe.core.runtime import runtime

from kappa.core.ground.whole_files import read_bytes, read_text
from kappa.core.vocabulary.features import SIMULATED
from kappa.core.vocabulary.modes import MODES, modes_here
from reframe_checks.base.case_journal import keep_journal
from reframe_checks.base.cases import Parameters, Registered, StatedCost, Tuning
from reframe_checks.base.evidence import EvidenceRecorder
from reframe_checks.base.hang_watch import HangWatch, SeesFolder
from reframe_checks.base.job_files import InImage
from reframe_checks.base.load_watch import LoadWatch
from reframe_checks.base.metrics import References, Strictness
from reframe_checks.base.patient_slurm import outlast_slurm, wait_at_limit
from reframe_checks.base.provenance import ProvenanceRecorder
from reframe_checks.base.reframe_internals import (
    ask_slurm_less,
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
keep_journal()

# Modes in which a check runs unless it says otherwise; a check tags itself for the others.
EVERY_MODE = ("nightly", "acceptance")
# A program that writes without end fills a disk, and must not fill the memory of the login node as well.
MAX_OUTPUT_BYTES = 256 * 2**20


def feature_choices(needs):
    """Each tuple of features that serves ``needs``, in which ``a|b`` asks for one of the two."""
    return list(itertools.product(*(need.split("|") for need in needs)))


class SystemCheck(
    rfm.RunOnlyRegressionTest, InImage, Parameters, Strictness, References, EvidenceRecorder, ProvenanceRecorder,
    Tuning, Launching, LoadWatch, HangWatch, SameAllocation, Simulated, Registered, StatedCost, SeesFolder,
    special=True,
):  # fmt: skip
    """A run-only check of the system itself, which runs no program of an environment.

    Leaves say ``family``, ``needs_*``, the command, the sanity and the metrics.

    A partition says in its ``extras`` how many ``nodes`` it has and, if jobs shall not wait for longer,
    ``max_pending_time``; cores per node come from its ``processor``.
    """

    #: What is validated, as ``folder/subject``; a site's expectations name families.
    family = rfmb.variable(str, loggable=True)
    #: Features that a partition must have (scales add theirs).
    needs_partition = rfmb.variable(typ.List[str], value=[])
    #: Features that an environment must have: the programs to run. ``a|b`` asks for one of the two.
    needs_environ = rfmb.variable(typ.List[str], value=[])
    #: What a case takes from the start of its job to its end, s: measured on the embedded site, …
    measured_s = rfmb.variable(float, int, value=0, loggable=True)
    #: … or, of what does not run there, an estimate for the hardware that it is made for. A leaf says one of the two.
    estimated_s = rfmb.variable(float, int, value=0, loggable=True)
    #: All features that this case needs of a partition, for the catalogue.
    case_features = rfmb.variable(typ.List[str], value=[])
    #: Modes besides its own tags in which the check runs.
    modes = EVERY_MODE
    #: Nodes of the partition that it does without; the job has to be told to leave them, too.
    without_nodes = rfmb.variable(typ.List[str], value=[])
    check_class = rfmb.variable(str, value="", loggable=True)
    #: At most so many nodes stand for all of the partition; 0: all do.
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
        """Modes in which it runs on the current site: its own, with what partitions add and without what they leave
        out, and that of everything."""
        also_in, not_in = (
            [partition.extras.get(extra, {}) for partition in runtime().system.partitions]
            for extra in ("also_in", "not_in")
        )
        return modes_here(cls.__name__, {*cls.modes, *cls.tags & {*MODES}}, also_in, not_in)

    def chosen_scale(self):
        """The row of the scale table that this case uses, or ``None``."""
        return None

    def chosen_features(self):
        """Partition features that this case needs besides ``needs_partition``."""
        scale = self.chosen_scale()
        return [scale.feature] if scale else []

    @classmethod
    def alternative_features(cls):
        """For each case of the class, the partition features that it needs besides ``needs_partition``."""
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
        """Number of nodes that the site says the partition has, less those that it does without."""
        return self.stated("extras/nodes", self.current_partition.extras.get("nodes")) - len(self.without_nodes)

    @property
    def cores_per_node(self):
        """Physical cores of a node, from the site's ``processor`` entry."""
        return self.stated("processor/num_cpus", self.current_partition.processor.num_cores or None)

    def stated(self, key, value):
        """``value``, which the site's settings have to give under ``key`` of the partition."""
        if value is None:
            raise ReframeError(f"partition {self.current_partition.fullname}: the site's settings must give {key}")
        return value

    @property
    def num_nodes_used(self):
        return self.num_tasks // (self.num_tasks_per_node or 1)

    def require_all_nodes(self, nodes):
        """True when every node of the job is among ``nodes``; for use in sanity functions."""
        missing = set(self.provenance["nodelist"]) - set(nodes)
        if missing:
            raise SanityError(f"no figure from {', '.join(sorted(missing))}")
        return True

    # After what the plug-ins of every check add, and before what a leaf does.
    @rfmb.run_before("run")
    def note_commands_of_job(self):
        self.commands_of_job = list(self.prerun_cmds)

    def run_complete(self):
        """ReFrame asks this of every running job at each poll, which no hook sees."""
        if self.job and not self.is_dry_run():
            self.answer_held_job()
            self.look_for_first_node()
        return super().run_complete()

    def output_text(self, name=None):
        """The text of the job's standard output, or of the file ``name`` in the stage folder, which is then kept."""
        if not name:
            return self.what_is_in(str(self.stdout), read_text, errors="replace")
        return self.what_is_in(self.kept(name), read_text, errors="replace")

    def output_bytes(self, name):
        """Return the bytes of the file ``name`` in the stage folder, which is then kept."""
        return self.what_is_in(self.kept(name), read_bytes)

    def kept(self, name):
        """``name``, a file in the stage folder that ReFrame shall keep: figures have to be provable later."""
        # ReFrame copies what is there, and leaves the stage of a failed check.
        self.keep_files = [*self.keep_files, name]
        return name

    def what_is_in(self, name, read, **how):
        try:
            return read(pathlib.Path(self.stagedir, name), MAX_OUTPUT_BYTES, **how)
        except OSError as err:
            raise SanityError(f"cannot read {name}: {err.strerror}") from err

    def parsed(self, parse, text, **kwargs):
        """``parse(text)``, with a parser's complaint made the reason why the check failed."""
        self.note_lines_of_others(text)
        try:
            return parse(text, **kwargs)
        except ParseError as err:
            raise SanityError(str(err)) from None


class KappaCheck(SystemCheck, SpackPrograms):
    """A run-only check that runs programs of an environment."""

    @rfmb.run_after("setup")
    def take_program(self):
        """Run what the fixture ``build`` has built, where the check has one."""
        if hasattr(self, "build"):
            self.program = self.build.command
            self.programs, self.executable = [self.program], shlex.quote(self.program)
