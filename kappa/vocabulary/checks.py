"""The catalogue of the suite's checks, ``checks.json``: what ReFrame says of them, for what runs without ReFrame.

``make catalogue`` writes it anew from the classes; a test says when that was forgotten.
"""

import functools
from importlib import resources

import msgspec

from kappa.vocabulary.tunables import Tunable

FILE = "checks.json"


class Case(msgspec.Struct, frozen=True):
    """One case of a check: its parameters, and the features of a partition that it needs."""

    parameters: dict[str, str]
    features: list[str]


class Check(msgspec.Struct, frozen=True):
    """A check class. ``needs_environ`` has ``a|b`` where one of two features will do; ``metrics`` maps to units."""

    family: str
    descr: str
    modes: list[str]
    needs_environ: list[str]
    metrics: dict[str, str]
    tunables: dict[str, Tunable]
    cases: list[Case]

    def values_of(self, parameter: str) -> list[str]:
        """Every value that the parameter has in some case; none if the check has no such parameter."""
        return list(dict.fromkeys(case.parameters[parameter] for case in self.cases if parameter in case.parameters))

    @property
    def parameters(self) -> list[str]:
        return list(dict.fromkeys(name for case in self.cases for name in case.parameters))


def decoded(text: bytes) -> dict[str, Check]:
    return msgspec.json.decode(text, type=dict[str, Check])


@functools.cache
def catalogue() -> dict[str, Check]:
    """Every check class of the suite by name."""
    return decoded(resources.files(__package__).joinpath(FILE).read_bytes())


@functools.cache
def families() -> dict[str, tuple[str, ...]]:
    """The check classes of each family."""
    found: dict[str, tuple[str, ...]] = {}
    for name, check in catalogue().items():
        found[check.family] = (*found.get(check.family, ()), name)
    return found
