"""References with provenance, from ``site_configs/<site>/references/*.yaml`` through ReFrame's ``$ref``.

A reference file holds ReFrame's own entries (``[value, lower, upper, unit]``, bounds as fractions of the
value, see ReFrame's manual, "External references") and one list of our own that says where they come from::

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

import math
import pathlib

import msgspec
import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import ReframeError
from reframe.core.runtime import runtime
from reframe.utility.sanity import reference_bounds

from kappa.core.ground.errors import InputError
from kappa.core.record.evidence import ReferenceSource, written
from kappa.core.sites.references import read_sources, source_of


class References(rfm.RegressionTestPlugin):
    """Attaches the site's references and records with each result where they come from."""

    #: File below the site's ``references/``; by default named after the check's family (``network.yaml``).
    reference_file = rfmb.variable(str, value="")
    #: Why the references could not be used; empty when they could.
    reference_problem = rfmb.variable(str, value="", loggable=True)
    #: Per metric: source, date, samples, method.
    reference_sources = rfmb.variable(dict, value={}, loggable=True)

    # Not before setup: ReFrame parses the file again for every case of the suite, selected or not.
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
                f"{self.reference_file}: {where} names {', '.join(unknown)}, "
                f"but this check measures {', '.join(sorted(self.perf_variables))}"
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
        """The least and the largest value with which the metric passes; infinite without a usable reference."""
        entry = {} if self.reference_problem else self._reference_entry()[0]
        try:
            lower, upper = map(float, reference_bounds(*entry[metric][:3]))
        except (KeyError, ValueError):
            return -math.inf, math.inf
        return lower, upper

    def out_of_bounds(self, metric, value):
        """Whether the metric would fail with this value; without a usable reference nothing does."""
        lower, upper = self.bounds_of(metric)
        return not lower <= value <= upper

    def _reference_entry(self):
        """The metrics that the reference file gives for this case, and the dotted place where they stand."""
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
