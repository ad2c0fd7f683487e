"""No silent pass: a declared metric that was not extracted, or is not a number, fails the check.

ReFrame itself only warns when a performance function raises, and the test passes.
"""

import math

import reframe as rfm
import reframe.core.builtins as rfmb
import reframe.utility.typecheck as typ
from reframe.core.exceptions import PerformanceError


class Strictness(rfm.RegressionTestPlugin):
    """Every declared metric is extracted, and every reference names a metric that exists."""

    #: Metrics that are recorded without a reference.
    informational = rfmb.variable(typ.List[str], value=[], loggable=True)
    #: Metrics that hold each node, or pair, against the median of its equals, and so prove no speed by themselves.
    relative = rfmb.variable(typ.List[str], value=[], loggable=True)
    #: Every metric that the check declares.
    declared_metrics = rfmb.variable(typ.List[str], value=[], loggable=True)
    #: Metrics left out, because the site does not state what they follow from -> what that is; the case is INCOMPLETE.
    unmeasured = rfmb.variable(dict, value={}, loggable=True)
    #: Unit of each metric, for the catalogue.
    metric_units = rfmb.variable(dict, value={})

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
        values = {key.split(":")[-1]: entry[0] for key, entry in self.perfvalues.items()}
        missing = [name for name in self.declared_metrics if name not in values]
        if missing:
            raise PerformanceError(f"no value could be extracted for {', '.join(missing)}: see the job's output")
        unusable = [f"{name}={value!r}" for name, value in values.items() if not _is_number(value)]
        if unusable:
            raise PerformanceError(f"not a finite number: {', '.join(unusable)}")


def _is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
