"""A series: the one case of a check, on one partition and environment, that is run again and again."""

import hashlib
import re
from dataclasses import dataclass

from kappa.core.record.model import Case
from kappa.core.sites.contract import Selector


@dataclass(frozen=True, order=True)
class Series:
    """``name`` is ReFrame's, with the parameters of the case."""

    name: str
    partition: str
    environment: str

    @classmethod
    def of(cls, case: Case) -> "Series":
        return cls(case.name, case.partition, case.environ)

    def __str__(self) -> str:
        return f"{self.name} on {self.partition}+{self.environment}"

    @property
    def slug(self) -> str:
        """A folder's name: the check, and what tells the series apart."""
        digest = hashlib.sha256("\0".join((self.name, self.partition, self.environment)).encode()).hexdigest()
        return f"{re.sub('[^A-Za-z0-9]', '_', self.name.partition(' ')[0])[:40]}-{digest[:8]}"

    @property
    def reframe_options(self) -> list[str]:
        """ReFrame's options that select this series of a system alone; it matches names without their blanks."""
        return [f"--name=^{re.escape(self.name.replace(' ', ''))}$", f"--prgenv=^{re.escape(self.environment)}$"]


def selects(selector: Selector, case: Case) -> bool:
    """True when ``case``, whatever it measured, is one that ``selector`` means."""
    return (
        selector.check in (None, case.check_class)
        and selector.family in (None, case.family)
        and selector.partition in (None, case.partition)
        and selector.environment in (None, case.environ)
        and {key: str(value) for key, value in selector.parameters.items()}.items() <= case.parameters.items()
    )
