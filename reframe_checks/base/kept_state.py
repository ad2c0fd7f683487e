"""What a check knew before it read its job's output. With it, the figures can be derived again from the kept output.

The check writes it as plain JSON beside its output, if ``keep_state`` asks for it. ``measured_again`` makes the check
anew in an offline ReFrame, gives it that state, and lets it read the kept output. It starts no program, and compares
nothing with references. State and output may be forged, so it takes values of known kinds only.
"""

import contextlib
import dataclasses
import json
import math
import pathlib
import re
import sys
import tempfile
import types

import reframe as rfm
from reframe.core.exceptions import SanityError
from reframe.core.runtime import runtime, temp_runtime

from kappa.core.ground.documents import json_text
from kappa.core.ground.errors import InputError
from kappa.core.ground.whole_files import write_atomically
from reframe_checks.base.case import formatted
from reframe_checks.base.reframe_internals import given_place

STATE = "check_state.json"
MAX_BYTES = 64 << 20
# ReFrame's own variables are no state of ours, except the layout of the job and its command.
_OF_REFRAME = frozenset(rfm.RunOnlyRegressionTest.var_space) - {"executable", "executable_opts"}
# ReFrame loads a file of checks under a name like `reframe_checks@c634b231.storage@0701c99b.ior@f64ae6c2`.
_LOADED_AS = re.compile(r"@[0-9a-f]+")
_OWN = ("reframe_checks.", "kappa.core.vocabulary.")
_PLAIN = (str, int, float, bool, type(None))


def write_state(check):
    """Write the state of ``check`` into its stage folder; return the name of the file."""
    known = {}
    for name in filter(_is_state, vars(check)):
        # A fixture, for instance, has no such form.
        with contextlib.suppress(TypeError):
            known[name] = _encoded(vars(check)[name])
    partition, environ = check.current_partition, check.current_environ
    document = {
        "check": known,
        "metrics": [*check.perf_variables],
        "partition": {
            "features": partition.features, "extras": partition.extras, "processor": partition.processor.info,
            "scheduler": partition.scheduler.registered_name,
        },
        "environ": {"features": environ.features, "extras": environ.extras},
    }  # fmt: skip
    write_atomically(pathlib.Path(check.stagedir, STATE), json.dumps(document), lasting=False)
    return STATE


def kept_file(path, folder):
    """Return where ReFrame keeps the file ``path`` of the stage folder ``folder``: without the folders between.

    :raises SanityError: the file would be outside of the folder.
    """
    if ".." in path.parts or not path.is_relative_to(folder):
        raise SanityError(f"{path} is outside of the kept output")
    return path if path.exists() else pathlib.Path(folder, path.name)


def _is_state(name):
    return name[0] != "_" and (name not in _OF_REFRAME or name.startswith("num_"))


def _encoded(value):
    """:raises TypeError: the value is of no known kind."""
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, list):
        return [_encoded(one) for one in value]
    if isinstance(value, dict):
        return {"dict": [[_encoded(key), _encoded(one)] for key, one in value.items()]}
    if hasattr(value, "_fields") or dataclasses.is_dataclass(value):
        names = getattr(value, "_fields", None) or [one.name for one in dataclasses.fields(value)]
        kind = _LOADED_AS.sub("", f"{type(value).__module__}:{type(value).__name__}")
        return {kind: [_encoded(getattr(value, name)) for name in names]}
    if isinstance(value, tuple | set | frozenset):
        return {type(value).__name__: [_encoded(one) for one in value]}
    raise TypeError(type(value))


def _decoded(value):
    """:raises InputError: the value is not of a known kind."""
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, list):
        return [_decoded(one) for one in value]
    [(kind, content)] = value.items() if len(value) == 1 else [("", None)]
    if not isinstance(content, list):
        raise InputError("it has a value of an unknown kind")
    items = [_decoded(one) for one in content]
    make = {"dict": dict, "tuple": tuple, "set": set, "frozenset": frozenset}.get(kind)
    if make:
        return make(items)
    module, _, name = kind.partition(":")
    found = getattr(sys.modules.get(module), name, None) if module.startswith(_OWN) else None
    if not isinstance(found, type) or not (hasattr(found, "_fields") or dataclasses.is_dataclass(found)):
        raise InputError("it has a value of an unknown kind")
    return found(*items)


def measured_again(cls, case, folder):
    """Return a check that has read the output in ``folder`` again.

    :param cls: the class of the check.
    :param case: the record of the case, a ``kappa.core.record.model.Case``.
    :raises InputError: the state is not usable.
    :raises ReframeError: as the check does when the output is wrong or not complete.
    """
    document = json.loads(json_text(folder / STATE, STATE, MAX_BYTES))
    with tempfile.TemporaryDirectory(prefix="kappa-") as scratch:
        settings = pathlib.Path(scratch, "settings.json")
        write_atomically(settings, json.dumps(_site_of(case, document)), lasting=False)
        # Files of large matrices would be written beside the output.
        with temp_runtime(str(settings), case.system, {"systems/outputdir": f"{scratch}/output"}):
            check = _made_anew(cls, case, document["check"])
            # A hook may have left out metrics of the class.
            check.perf_variables = {name: check.perf_variables[name] for name in document["metrics"]}
            given_place(check, runtime().system.partitions[0], folder, _ended_job(case))
            check.reads_again, check.reference_problem = True, "not compared"
            # The bounds of the record decide which node is the worst.
            bounds = {metric.name: metric.bounds for metric in case.metrics}
            check.bounds_of = lambda metric: bounds.get(metric, (-math.inf, math.inf))
            check.sanity()
            check.performance()
            return check


def _ended_job(case):
    return types.SimpleNamespace(
        exitcode=0, state="COMPLETED", jobid=case.job_id, nodelist=[*(case.job_nodelist or ())],
        stdout=case.job_stdout, stderr=case.job_stderr,
    )  # fmt: skip


def _site_of(case, document):
    """Return the settings of a site that has only the place of the case."""
    partition, environ = ({key: document[part][key] for key in keys} for part, keys in _PLACE.items())
    place = {**partition, "name": case.partition, "launcher": "local", "environs": [case.environ]}
    return {
        "systems": [{"name": case.system, "hostnames": [".*"], "partitions": [place]}],
        "environments": [{**environ, "name": case.environ}],
    }


_PLACE = {"partition": ("features", "extras", "processor", "scheduler"), "environ": ("features", "extras")}


def _made_anew(cls, case, state):
    numbers = range(cls.num_variants)
    same = (n for n in numbers if formatted(cls, cls.get_variant_info(n, recurse=True)) == case.parameters)
    number = next(same, None)
    if number is None:
        raise InputError("the check has no such parameters in this version of the suite")
    check = cls(variant_num=number)
    for name, value in state.items():
        known = getattr(cls, name, None)
        if _is_state(name) and not callable(known) and not isinstance(known, property):
            setattr(check, name, _decoded(value))
    return check
