"""Metrics of a check: their table, their references, and the rules for a valid result."""

import math
import pathlib
from typing import ClassVar

import msgspec
import reframe as rfm
import reframe.core.builtins as rfmb
import reframe.utility.typecheck as typ
from reframe.core.exceptions import PerformanceError, ReframeError, SanityError
from reframe.core.runtime import runtime
from reframe.utility import sanity as sn
from reframe.utility.sanity import reference_bounds

from kappa.core.ground.errors import InputError
from kappa.core.record.evidence import ReferenceSource, written
from kappa.core.record.metric import figures_of
from kappa.core.sites.references import read_sources, source_of


class Strictness(rfm.RegressionTestPlugin):
    """Fail the check if a declared metric was not extracted or is not a finite number.

    ReFrame itself only warns if a performance function raises, and the test passes.
    """

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

    @classmethod
    def all_metrics(cls):
        """Return the metrics of the class and its bases: name -> (unit, function)."""
        found = {}
        for base in cls.__mro__:
            found |= {name: one for name, one in vars(base).get("metrics", {}).items() if name not in found}
        return found

    @rfmb.run_after("init")
    def declare_metrics_of_class(self):
        self.declare(self.all_metrics())

    def declare(self, metrics):
        """Add metrics to this case, in the form of the table ``metrics``."""
        self.perf_variables |= {
            name: sn.make_performance_function(value, unit, self) for name, (unit, value) in metrics.items()
        }

    @rfmb.run_after("init", always_last=True)
    def record_units(self):
        self.metric_units = {name: function.unit for name, function in self.perf_variables.items()}

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


def _is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


class References(rfm.RegressionTestPlugin):
    """Attach the site's references to the metrics, and record the sources of the references with each result.

    A file ``references/*.yaml`` has ReFrame's own entries (``[value, lower, upper, unit]``, bounds as fractions of
    the value, see ReFrame's manual, "External references") and our list ``$sources``, which gives their sources::

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

    #: File below the site's ``references/``; by default named after the check's family (``network.yaml``).
    reference_file = rfmb.variable(str, value="")
    #: Why the references cannot be used; empty if they can.
    reference_problem = rfmb.variable(str, value="", loggable=True)
    #: Per metric: source, date, samples, method.
    reference_sources = rfmb.variable(dict, value={}, loggable=True)

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
