"""Every case of the suite that ReFrame made, selected or not: the census says where the site offers each of them."""

from dataclasses import dataclass

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.runtime import valid_sysenv_comb


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


_made: dict[str, dict[str, MadeCase]] = {}


class Registered(rfm.RegressionTestPlugin):
    @rfmb.run_after("init", always_last=True)
    def register_case(self):
        # What --distribute, --repeat and -P make of a case has the name of the case.
        made = MadeCase(
            self.name, tuple(self.chosen_features()), tuple(self.valid_systems), tuple(self.valid_prog_environs)
        )
        _made.setdefault(type(self).__name__, {}).setdefault(made.name, made)


def made_cases(check_class: str) -> list[MadeCase]:
    """The cases of a class, in the order in which ReFrame made them."""
    return list(_made.get(check_class, {}).values())
