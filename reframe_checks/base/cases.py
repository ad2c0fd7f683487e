"""A case of a check: its parameters, the register of all cases, the site's sizes for it, and what it costs."""

import math
from dataclasses import dataclass

import reframe as rfm
import reframe.core.builtins as rfmb
import reframe.utility.typecheck as typ
from reframe.core.exceptions import ReframeError
from reframe.core.runtime import valid_sysenv_comb

from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.base.reframe_internals import DescribedVariable, given_by_user

# Type of a ``Tunable`` -> the types of ReFrame's variable.
_TYPES = {
    "whole number": (int,), "number": (float, int), "text": (str,), "yes or no": (typ.Bool,),
    "whole numbers": (typ.List[int],), "numbers": (typ.List[float],), "auto or message": (str,),
    "text, or one for each scale": (str, typ.Dict[str, str]),
}


class Parameters(rfm.RegressionTestPlugin):
    """Record a case's parameters structured: a report compares cases that share them all, whatever their names."""

    #: name -> value as in the case's name; those of a fixture as ``fixture.name``.
    parameters = rfmb.variable(typ.Dict[str, str], value={}, loggable=True)

    @rfmb.run_after("init")
    def record_parameters(self):
        cls = type(self)
        self.parameters = formatted(cls, cls.get_variant_info(self.variant_num, recurse=True))


def formatted(cls, variant):
    """The parameters of a variant of ``cls`` as text, without those that ReFrame's options added."""
    found = {
        name: cls.raw_params[name].format(value)
        for name, value in variant["params"].items()
        if not name.startswith(".")
    }
    for name, of_fixture in variant["fixtures"].items():
        fixture = cls.fixture_space[name]
        if fixture.action != "join":  # as ReFrame's names
            inner = formatted(fixture.cls, of_fixture)
            found |= {f"{name}.{key}": value for key, value in inner.items()}
    return found


@dataclass(frozen=True)
class MadeCase:
    """A case by the name that reports give it, and all that decides where it can run."""

    name: str
    features: tuple[str, ...]
    systems: tuple[str, ...]
    environs: tuple[str, ...]

    def offered_on(self) -> tuple[tuple[str, str], ...]:
        """(partition, environment) of each place where the current site offers it."""
        places = valid_sysenv_comb(self.systems, self.environs)
        return tuple((partition.name, environ.name) for partition, environs in places.items() for environ in environs)


# Every case that ReFrame made, selected or not: the census says where the site offers each of them.
_made: dict[str, dict[str, MadeCase]] = {}


class Registered(rfm.RegressionTestPlugin):
    @rfmb.run_after("init", always_last=True)
    def register_case(self):
        # What --distribute, --repeat and -P make of a case has the name of the case.
        made = MadeCase(
            self.name, tuple(self.case_features), tuple(self.valid_systems), tuple(self.valid_prog_environs)
        )
        _made.setdefault(type(self).__name__, {}).setdefault(made.name, made)


def made_cases(check_class: str) -> list[MadeCase]:
    """The cases of a class, in the order in which ReFrame made them."""
    return list(_made.get(check_class, {}).values())


class SiteVariable(DescribedVariable):
    """A variable that a site may set: ``NAME = SiteVariable(DEFAULT, TYPE, UNIT, MEANING)``, as in ``Tunable``."""

    def __init__(self, value, *tunable):
        self.described = Tunable(*tunable)
        super().__init__(*_TYPES[self.described.type], value=value)


class Tuning(rfm.RegressionTestPlugin):
    """Site tuning: sizes that depend on the machine come from the partition, not from the check.

    A partition's ``extras`` may hold ``tuning: {Class: {variable: value}}`` for variables that the class lists in
    ``tunable``; anything else there is an error. A variable given on ReFrame's command line keeps that value.
    """

    #: The variables that a site may set, besides each ``SiteVariable`` of the class and its bases: name -> ``Tunable``.
    tunable = rfmb.variable(typ.Dict[str, Tunable], value={})
    #: Each ``SiteVariable`` of the bases that means nothing here.
    not_tunable: tuple[str, ...] = ()

    @rfmb.run_after("init")
    def list_tunable(self):
        variables = type(self).var_space.items()
        own = {name: one.described for name, one in variables if isinstance(one, DescribedVariable)}
        self.tunable = {name: one for name, one in own.items() if name not in self.not_tunable} | self.tunable

    @rfmb.run_after("setup")
    def apply_site_tuning(self):
        for variable, value in self.site_tuning(self.current_partition).items():
            if variable not in self.tunable:
                name = type(self).__name__
                raise ReframeError(
                    f"partition {self.current_partition.fullname}: extras/tuning/{name}/{variable} cannot be set; "
                    f"{name} lets a site set {', '.join(self.tunable) or 'nothing'}"
                )
            setattr(self, variable, value)

    def site_tuning(self, partition):
        """Return what the site sets on ``partition``, name -> value, without the variables that the user gave."""
        settings = partition.extras.get("tuning", {}).get(type(self).__name__, {})
        return {name: value for name, value in settings.items() if not given_by_user(self, name)}


class StatedCost(rfm.RegressionTestPlugin):
    """Say before it runs what a case costs: seconds of its nodes, and the bytes that it writes at most.

    ``kappa plan`` adds them up; what a case wrote is recorded with its result. Leaves whose cost follows from their
    sizes override ``expected_s``, ``most_bytes`` and ``wrote_bytes``.
    """

    #: What the job takes of its nodes by what the check says, s.
    stated_s = rfmb.variable(float, int, value=0, loggable=True)
    #: What the case writes at most to storage that it measures, bytes.
    stated_bytes = rfmb.variable(int, value=0, loggable=True)
    #: What it wrote there, bytes.
    written_bytes = rfmb.variable(int, value=0, loggable=True)

    def expected_s(self):
        """Seconds of the job: by sizes and tuning where a leaf says so, else what the class says of any case."""
        return self.measured_s or self.estimated_s

    def most_bytes(self):
        """Bytes, of all ranks and repeats."""
        return 0

    def wrote_bytes(self):
        """Bytes, once the output has been read; a check that stops at a stonewall knows it from its output alone."""
        return self.most_bytes()

    def no_longer_than(self, max_time):
        """Have the job ask for no more than the partition gives (``10m``)."""
        asked_s = self.time_limit or math.inf
        self.time_limit = max_time
        self.time_limit = min(asked_s, self.time_limit)

    # After tuning and the layout of ranks, which sizes follow from.
    @rfmb.run_before("run")
    def state_cost(self):
        self.stated_s, self.stated_bytes = self.expected_s(), self.most_bytes()
        max_time = self.current_partition.extras.get("max_time")
        if max_time and self.stated_s > self.time_limit:
            # ReFrame records no reason of a skip.
            self.hint = f"it takes some {self.stated_s:.0f} s, and `max_time` of the partition is {max_time}"
            self.skip(self.hint)

    @rfmb.run_after("sanity")
    def record_written(self):
        if not self.is_dry_run():
            self.written_bytes = self.wrote_bytes()
