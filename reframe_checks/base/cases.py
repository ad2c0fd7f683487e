"""A case of a check: its parameters, the register of all cases, the site's tunables for it, and its cost."""

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
    """Record a case's parameters as fields, so that a report can compare cases with equal parameters."""

    #: name -> value as in the case's name; parameters of a fixture have the name ``fixture.name``.
    parameters = rfmb.variable(typ.Dict[str, str], value={}, loggable=True)

    @rfmb.run_after("init")
    def record_parameters(self):
        cls = type(self)
        self.parameters = formatted(cls, cls.get_variant_info(self.variant_num, recurse=True))


def formatted(cls, variant):
    """Return the parameters of a variant of ``cls`` as text, without parameters that ReFrame's options added."""
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
    """A case under its name in reports, and the conditions that decide where it can run."""

    name: str
    features: tuple[str, ...]
    systems: tuple[str, ...]
    environs: tuple[str, ...]

    def offered_on(self) -> tuple[tuple[str, str], ...]:
        """Return (partition, environment) of each place where the current site offers the case."""
        places = valid_sysenv_comb(self.systems, self.environs)
        return tuple((partition.name, environ.name) for partition, environs in places.items() for environ in environs)


# Every case that ReFrame made, selected or not: the census lists where the site offers each one.
_made: dict[str, dict[str, MadeCase]] = {}


class Registered(rfm.RegressionTestPlugin):
    @rfmb.run_after("init", always_last=True)
    def register_case(self):
        # Cases that --distribute, --repeat and -P derive from a case have the same name.
        made = MadeCase(
            self.name, tuple(self.case_features), tuple(self.valid_systems), tuple(self.valid_prog_environs)
        )
        _made.setdefault(type(self).__name__, {}).setdefault(made.name, made)


def made_cases(check_class: str) -> list[MadeCase]:
    """Return the cases of a class, in the order in which ReFrame made them."""
    return list(_made.get(check_class, {}).values())


class SiteVariable(DescribedVariable):
    """A variable that a site may set: ``NAME = SiteVariable(DEFAULT, TYPE, UNIT, MEANING)``, as in ``Tunable``."""

    def __init__(self, value, *tunable):
        self.described = Tunable(*tunable)
        super().__init__(*_TYPES[self.described.type], value=value)


class Tuning(rfm.RegressionTestPlugin):
    """Site tuning: the partition sets sizes that depend on the machine.

    A partition's ``extras`` may have ``tuning: {Class: {variable: value}}`` for variables that the class lists in
    ``tunable``; any other variable there is an error. A value from ReFrame's command line has priority.
    """

    #: The variables that a site may set, besides each ``SiteVariable`` of the class and its bases: name -> ``Tunable``.
    tunable = rfmb.variable(typ.Dict[str, Tunable], value={})
    #: Names of each inherited ``SiteVariable`` that this class does not use.
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
                    f"partition {self.current_partition.fullname}: extras/tuning/{name}/{variable} is not a tunable; "
                    f"remove it. Tunables of {name}: {', '.join(self.tunable) or 'none'}"
                )
            setattr(self, variable, value)

    def site_tuning(self, partition):
        """Return the site's tunables for ``partition``, name -> value, without variables that the user set."""
        settings = partition.extras.get("tuning", {}).get(type(self).__name__, {})
        return {name: value for name, value in settings.items() if not given_by_user(self, name)}


class StatedCost(rfm.RegressionTestPlugin):
    """State the cost of a case before it runs: the job's seconds, and the most bytes that it writes.

    ``kappa validate --plan`` adds the costs up. The bytes that a case wrote are part of its result. Leaf classes whose
    cost depends on their sizes override ``expected_s``, ``most_bytes`` and ``wrote_bytes``.
    """

    #: Expected time of the job, s.
    stated_s = rfmb.variable(float, int, value=0, loggable=True)
    #: The most that the case writes to the storage that it measures, bytes.
    stated_bytes = rfmb.variable(int, value=0, loggable=True)
    #: The amount that the case wrote there, bytes.
    written_bytes = rfmb.variable(int, value=0, loggable=True)

    def expected_s(self):
        """Return the job's expected time in s: by default the class's value; leaves compute it from their sizes."""
        return self.measured_s or self.estimated_s

    def most_bytes(self):
        """Return the most bytes that all ranks and repeats write."""
        return 0

    def wrote_bytes(self):
        """Return the bytes that the case wrote. A check with a stonewall learns this from its output only."""
        return self.most_bytes()

    def no_longer_than(self, max_time):
        """Limit the job's time to the partition's ``max_time`` (``10m``)."""
        asked_s = self.time_limit or math.inf
        self.time_limit = max_time
        self.time_limit = min(asked_s, self.time_limit)

    # Sizes depend on tunables and on the layout of ranks.
    @rfmb.run_before("run")
    def state_cost(self):
        self.stated_s, self.stated_bytes = self.expected_s(), self.most_bytes()
        max_time = self.current_partition.extras.get("max_time")
        if max_time and self.stated_s > self.time_limit:
            # ReFrame records no reason for a skip.
            self.hint = f"the case takes about {self.stated_s:.0f} s, but `max_time` of the partition is {max_time}"
            self.skip(self.hint)

    @rfmb.run_after("sanity")
    def record_written(self):
        if not self.is_dry_run():
            self.written_bytes = self.wrote_bytes()
