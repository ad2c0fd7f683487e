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

import datetime
import fnmatch
import functools
import pathlib

import msgspec
import reframe as rfm
import reframe.core.builtins as rfmb
import yaml
from reframe.core.exceptions import ReframeError
from reframe.core.runtime import runtime

from kappa.ground.bounded_file import read_text
from kappa.ground.bounded_yaml import load_yaml
from kappa.record.evidence import ReferenceSource, written

MAX_BYTES = 16 * 2**20
SOURCES = ("contract", "vendor", "theoretical", "learned", "simulated")


class ReferenceFileError(ValueError):
    """A reference file that cannot be used; names the file, the key and what was expected."""


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
        prefix = runtime().get_option("general/0/reference_prefix")
        if prefix is None:
            self.reference_problem = "the site's settings do not set general/reference_prefix"
            return
        self.reference_file = self.reference_file or f"{self.family.split('/')[0]}.yaml"
        self._reference_path = pathlib.Path(prefix) / self.reference_file
        try:
            read_sources(self._reference_path)
            self.reference = {"$ref": self.reference_file}
        except (OSError, ReferenceFileError, ReframeError, TypeError, KeyError, AttributeError) as err:
            self.reference_problem = f"{self.reference_file}: {err}"

    @rfmb.run_before("performance")
    def record_reference_sources(self):
        if self.reference_problem:
            return
        entry, where = self._reference_entry()
        unknown = sorted(set(entry) - set(self.perf_variables))
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


@functools.cache
def read_sources(path: pathlib.Path) -> tuple[dict, ...]:
    """The ``$sources`` list of a reference file, checked.

    :raises ReferenceFileError: names the key and what was expected there.
    :raises OSError: the file cannot be read.
    """
    try:
        document = load_yaml(read_text(path, MAX_BYTES))
    except yaml.YAMLError as err:
        raise ReferenceFileError(f"not valid YAML: {err}") from err
    except UnicodeDecodeError as err:
        raise ReferenceFileError(f"not UTF-8: {err.reason} at byte {err.start}") from err
    if not isinstance(document, dict):
        raise ReferenceFileError("expected a mapping from check class to references")
    sources = document.get("$sources")
    if not isinstance(sources, list):
        raise ReferenceFileError("expected a list `$sources` that says where the references come from")
    for number, source in enumerate(sources):
        _check_source(source, f"$sources[{number}]")
    return tuple({**source, "date": str(source["date"])} for source in sources)


def _check_source(source, where):
    expected = {"match": str, "source": str, "date": datetime.date, "samples": int, "method": str}
    if not isinstance(source, dict):
        raise ReferenceFileError(f"{where}: expected a mapping with {', '.join(expected)}")
    for key, kind in expected.items():
        if not isinstance(source.get(key), kind):
            raise ReferenceFileError(f"{where}.{key}: expected {kind.__name__}, found {source.get(key)!r}")
    if source["source"] not in SOURCES:
        raise ReferenceFileError(f"{where}.source: expected one of {', '.join(SOURCES)}, found {source['source']!r}")


def source_of(sources, dotted):
    """The first entry of ``sources`` whose pattern matches ``CLASS.INDEX….METRIC``, without the pattern."""
    for source in sources:
        if fnmatch.fnmatchcase(dotted, source["match"]):
            return {key: value for key, value in source.items() if key != "match"}
    return None
