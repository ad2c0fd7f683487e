"""The measurement of a check: the commands of its job, its metrics, and their references."""

import copy
import math
import pathlib
import shlex
from typing import ClassVar

import msgspec
import reframe as rfm
import reframe.core.builtins as rfmb
import reframe.utility.typecheck as typ
from reframe.core.backends import getlauncher
from reframe.core.exceptions import PerformanceError, ReframeError, SanityError
from reframe.core.runtime import runtime
from reframe.utility import sanity as sn
from reframe.utility.sanity import reference_bounds

from kappa.core.ground.errors import InputError
from kappa.core.ground.whole_files import write_atomically
from kappa.core.record.evidence import ReferenceSource, written
from kappa.core.record.metric import figures_of
from kappa.core.sites.launchers import HOSTS_FILE
from kappa.core.sites.references import read_sources, source_of
from kappa.core.vocabulary.programs import LAUNCHERS, OF_FEATURE

# Launcher -> its option for the number of ranks on each node.
PER_NODE = {
    "srun": "--ntasks-per-node={}",
    "srunalloc": "--ntasks-per-node={}",
    "mpirun-openmpi": "-npernode {}",
    "mpirun-intelmpi": "-ppn {}",
    "mpiexec.hydra": "-ppn {}",
}
SLURMS = ("srun", "srunalloc")
SERIES_FILE = "series.sh"
# Longer series go to a file of their own: hundreds of lines would hide the rest of the job script.
MOST_IN_SCRIPT = 3
# The folder on the job's PATH, and the script in it, with which a program runs in the image.
IN_IMAGE, SCRIPT = "in_image", "call"


class CheckMeasure(rfm.RegressionTestPlugin):
    """Commands, metrics and references.

    ================  ================================================  ==============================================
    phase             what happens                                      what a check may set or override
    ================  ================================================  ==============================================
    after init        ``declare_metrics_of_class``; ``record_units``    ``metrics``, ``informational``, ``relative``,
                      after all other hooks                             ``steady``; ``declare`` adds metrics of a case
    after setup       ``attach_references``                             ``reference_file``; ``executable`` and its
                                                                        options in a hook of the check
    before run        ``call_programs_in_image``; after the hooks of    ``command_lines``, ``repeats``,
                      the check, ``take_command_lines``                 ``prerun_cmds``, ``postrun_cmds``
    before            ``record_reference_sources``,                     ``unmeasured``
    performance       ``record_declared_metrics``
    after             ``every_metric_has_a_value``: ReFrame itself
    performance       only warns if a performance function raises
    ================  ================================================  ==============================================

    **Commands.** The job runs the command lines in turn; each starts a step on all of the job's ranks or on a part of
    them. If the environment has an ``image``, its programs run in it, whether a launcher, a script or an earlier step
    starts them: the first folder on the job's PATH has a script for each program. Launchers are those of the nodes.

    **References.** A file ``references/*.yaml`` has ReFrame's own entries (``[value, lower, upper, unit]``, bounds as
    fractions of the value, see ReFrame's manual, "External references") and our list ``$sources``, which gives their
    sources::

        OsuLatency:
          $index: [$partition, placement]
          site:cpu:
            two_nodes:
              latency_8B: [500, null, 0, us]      # at most 500 us

        $sources:
          - match: "OsuLatency.*"     # shell pattern on CLASS.INDEX….METRIC, the first match counts
            source: theoretical       # contract, vendor, theoretical, learned or simulated
            date: 2026-11-21
            samples: 0
            method: why this value
    """

    #: How often the command runs in the job.
    repeats = rfmb.variable(int, value=1)
    #: Metrics that are recorded without a reference.
    informational = rfmb.variable(typ.List[str], value=[], loggable=True)
    #: Metrics that compare each node or pair with the median of its equals. They prove no absolute speed.
    relative = rfmb.variable(typ.List[str], value=[], loggable=True)
    #: Metrics that the load of other programs does not change (free space, sizes, counts). Load does not excuse them.
    steady = rfmb.variable(typ.List[str], value=[], loggable=True)
    #: Every metric that the check declares.
    declared_metrics = rfmb.variable(typ.List[str], value=[], loggable=True)
    #: Metrics that were left out because the site does not state a value -> the missing value. The case is INCOMPLETE.
    unmeasured = rfmb.variable(dict, value={}, loggable=True)
    #: Unit of each metric, for the catalogue.
    metric_units = rfmb.variable(dict, value={})

    #: Metric -> its unit, and the function that returns its value from a check whose output was read. The tables of all
    #: bases are merged.
    metrics: ClassVar[dict] = {}

    #: File below the site's ``references/``; by default named after the check's family (``network.yaml``).
    reference_file = rfmb.variable(str, value="")
    #: Why the references cannot be used; empty if they can.
    reference_problem = rfmb.variable(str, value="", loggable=True)
    #: Per metric: source, date, samples, method.
    reference_sources = rfmb.variable(dict, value={}, loggable=True)

    @rfmb.run_after("init")
    def declare_metrics_of_class(self):
        self.declare(self.all_metrics())

    @rfmb.run_after("init", always_last=True)
    def record_units(self):
        self.metric_units = {name: function.unit for name, function in self.perf_variables.items()}

    # Not earlier: before setup, ReFrame would parse the file for every case of the suite, selected or not.
    @rfmb.run_after("setup")
    def attach_references(self):
        if self.simulated:
            return
        prefix = runtime().get_option("general/0/reference_prefix")
        if prefix is None:
            self.reference_problem = "the site's settings do not set general/reference_prefix"
            return
        self.reference_file = self.reference_file or f"{self.family.split('/')[0]}.yaml"
        self._reference_path = pathlib.Path(prefix) / self.reference_file
        try:
            read_sources(self._reference_path)
            self.reference = {"$ref": self.reference_file}
        except InputError as err:
            self.reference_problem = str(err)
        except (OSError, ReframeError, TypeError, KeyError, AttributeError) as err:
            self.reference_problem = f"{self.reference_file}: {err}"

    @rfmb.run_before("run")
    def call_programs_in_image(self):
        image = self.current_environ.extras.get("image")
        if not image or not self.needs_environ:
            return
        names = {name for feature in self.current_environ.features for name in OF_FEATURE.get(feature, ())}
        # Programs whose names the site chooses.
        names |= {name for name in self.programs or [self.executable] if "/" not in name}
        names -= {*LAUNCHERS, self.runtime_program()}
        folder = pathlib.Path(self.stagedir, IN_IMAGE)
        folder.mkdir(exist_ok=True)
        write_atomically(folder / SCRIPT, self.call_in(image), mode=0o700)
        for name in names:
            (folder / name).unlink(missing_ok=True)
            (folder / name).symlink_to(SCRIPT)
        self.prerun_cmds = [f"export PATH={shlex.quote(str(folder))}:$PATH", *self.prerun_cmds]

    # After the hooks of leaves, before the job reads its nodes' counters for the last time.
    @rfmb.run_before("run", always_last=True)
    def take_command_lines(self):
        *before, last = self.command_lines()
        if last != self.launched(self.executable, *self.executable_opts):
            # ReFrame would put a launcher of all ranks before it.
            self.job.launcher = getlauncher("local")()
            self.executable, *self.executable_opts = last.split(" ")
        if len(before) > MOST_IN_SCRIPT:
            path = pathlib.Path(self.stagedir, self.kept(SERIES_FILE))
            write_atomically(path, "".join(f"{line}\n" for line in before))
            before = [f". ./{SERIES_FILE}"]
        self.prerun_cmds = [*self.prerun_cmds, *before]

    @rfmb.run_before("performance")
    def record_reference_sources(self):
        if self.reference_problem or self.simulated:
            return
        entry, where = self._reference_entry()
        unknown = sorted(set(entry) - set(self.perf_variables) - set(self.unmeasured))
        if unknown:
            self.reference_problem = (
                f"{self.reference_file}: {where} names {', '.join(unknown)}, which this check does not measure; "
                f"its metrics are {', '.join(sorted(self.perf_variables))}"
            )
        sources = read_sources(self._reference_path)
        found = {metric: source_of(sources, f"{where}.{metric}") for metric in entry}
        self.reference_sources = {
            metric: written(msgspec.convert(source, ReferenceSource)) for metric, source in found.items() if source
        }
        without = sorted(metric for metric, source in found.items() if not source)
        if without and not self.reference_problem:
            self.reference_problem = f"{self.reference_file}: no $sources entry matches {where}.{without[0]}"

    @rfmb.run_before("performance")
    def record_declared_metrics(self):
        self.declared_metrics = sorted(self.perf_variables)
        if not self.declared_metrics:
            raise PerformanceError(f"{type(self).__name__} declares no metric")

    @rfmb.run_after("performance")
    def every_metric_has_a_value(self):
        if self.is_dry_run():
            return
        values = {name: figure.value for name, figure in figures_of(self.perfvalues).items()}
        missing = [name for name in self.declared_metrics if name not in values]
        if missing:
            raise PerformanceError(f"the job's output has no value for {', '.join(missing)}")
        unusable = [f"{name}={value!r}" for name, value in values.items() if not _is_number(value)]
        if unusable:
            raise PerformanceError(f"expected finite numbers, found {', '.join(unusable)}")

    @classmethod
    def all_metrics(cls):
        """Return the metrics of the class and its bases: name -> (unit, function)."""
        found = {}
        for base in cls.__mro__:
            found |= {name: one for name, one in vars(base).get("metrics", {}).items() if name not in found}
        return found

    def declare(self, metrics):
        """Add metrics to this case, in the form of the table ``metrics``."""
        self.perf_variables |= {
            name: sn.make_performance_function(value, unit, self) for name, (unit, value) in metrics.items()
        }

    def bounds_of(self, metric):
        """Return the least and the largest value with which the metric passes; infinite without a usable reference."""
        entry = {} if self.reference_problem else self._reference_entry()[0]
        try:
            lower, upper = map(float, reference_bounds(*entry[metric][:3]))
        except (KeyError, ValueError):
            return -math.inf, math.inf
        return lower, upper

    def out_of_bounds(self, metric, value):
        """Tell whether the metric would fail with this value; False without a usable reference."""
        lower, upper = self.bounds_of(metric)
        return not lower <= value <= upper

    def _reference_entry(self):
        """Return the metrics that the reference file gives for this case, and their dotted place in the file."""
        name = type(self).__name__
        index = getattr(self.reference, "index", None) or ()
        special = {
            "$system": self.current_system.name,
            "$partition": self.current_partition.fullname,
            "$environ": self.current_environ.name,
        }
        where = ".".join([name, *(str(special.get(key) or getattr(self, key, key)) for key in index)])
        try:
            entry = self.reference[self] if index else dict(self.reference)
        except KeyError:
            return {}, where
        return entry, where

    def command_lines(self):
        """Return the command lines of the job in turn, each with its launcher and quoted for the shell.

        A leaf with several steps overrides this, and redirects the output of each step.
        """
        return [self.launched(self.executable, *self.executable_opts)] * self.repeats

    def launched(self, *words):
        """Return the command line that starts these words on all of the job's ranks."""
        return " ".join([self.launch_command(), *words])

    def launch_command(self):
        """Return the launcher and its options for a step on all of the job's ranks."""
        # ReFrame sets this only after the hooks; without it, a step would have one core for each task.
        self.job.num_cpus_per_task = self.num_cpus_per_task
        return self.job.launcher.run_command(self.job)

    def launch_on(self, ranks, ranks_per_node=None):
        """Return the launcher and its options for a step on ``ranks`` ranks of the job, node by node.

        :param ranks_per_node: by default as many as the job has.
        :raises ReframeError: the job has fewer ranks or nodes, or the launcher cannot place the ranks in this way.
        """
        most_per_node = self.num_tasks_per_node or 1
        per_node = min(ranks, ranks_per_node or most_per_node)
        nodes = -(-ranks // per_node)
        if nodes > -(-self.num_tasks // most_per_node) or per_node > most_per_node:
            raise ReframeError(
                f"{ranks} ranks, {per_node} on a node, need more than this job's {self.num_nodes_used} nodes of "
                f"{self.num_tasks_per_node} ranks"
            )
        name = self.job.launcher.registered_name
        job, launcher = copy.copy(self.job), copy.copy(self.job.launcher)
        job.num_tasks, job.num_tasks_per_node, job.num_cpus_per_task = ranks, per_node, self.num_cpus_per_task
        if self.simulated:
            launcher.hosts_file = self.hosts_file_of(ranks, per_node)
        elif name in PER_NODE:
            per_node_option = PER_NODE[name].format(per_node)
            counts = [f"--nodes={nodes}", f"--ntasks={ranks}"] if name in SLURMS else []
            launcher.options = [*launcher.options, *counts, per_node_option]
        elif (ranks, per_node) != (self.num_tasks, self.num_tasks_per_node):
            can = ", ".join(PER_NODE)
            raise ReframeError(f"the launcher {name} cannot place {per_node} ranks on a node; use one of {can}")
        return launcher.run_command(job)

    def hosts_file_of(self, ranks, per_node):
        """Write the file with the host of each rank of a simulated job, and return its name."""
        if per_node == self.num_tasks_per_node:
            return HOSTS_FILE
        path = pathlib.Path(self.stagedir, f"hosts-{per_node}-per-node.txt")
        try:
            write_atomically(path, "".join(f"{host}\n" for host in self.hosts(self.num_nodes_used, per_node)))
        except InputError as err:
            raise ReframeError(f"fabric {self.fabric.name}: {err}") from None
        self.keep_files = [*self.keep_files, path.name]
        return path.name

    def runtime_program(self):
        return self.current_partition.container_runtime.lower()

    def call_in(self, image):
        """Return a script that calls the program with the script's name in the image, with the job's folders bound."""
        partition = self.current_partition
        options = ["--bind", ",".join([self.stagedir, *partition.extras.get("storage", {}).values()])]
        options += ["--nv"] if "nvidia" in partition.features else []
        options += self.current_environ.extras.get("image_options", [])
        return f"""#!/bin/sh
exec {shlex.join([self.runtime_program(), "exec", *options])} --pwd "$PWD" {shlex.quote(image)} "${{0##*/}}" "$@"
"""


def _is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def with_variables(variables, words):
    """Return the command line of ``words`` that sets these environment variables, for this step only, on every node."""
    settings = [f"{name}={value}" for name, value in sorted(variables.items())]
    return shlex.join(["env", *settings, *words] if settings else words)


class Rated(rfm.RegressionTestPlugin):
    """A check of a benchmark with rules; ``rules`` names them.

    With ``must_be_valid``, an invalid result fails the check. Without it (a short form), the result lists the broken
    rules and is never a rating.
    """

    rules = ""
    must_be_valid = True

    def judge_by_rules(self, broken):
        """Set ``validity``; for use in sanity functions.

        :param broken: a text for each broken rule.
        :raises SanityError: rules are broken, and the result must be valid.
        """
        self.validity = f"valid by {self.rules}"
        if broken:
            self.validity = f"not a valid result by {self.rules}: {'; '.join(broken)}"
            if self.must_be_valid:
                raise SanityError(self.validity)
