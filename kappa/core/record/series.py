"""Identify a case that several runs repeat."""

import hashlib
import re
from dataclasses import dataclass

from kappa.core.record.model import Case


@dataclass(frozen=True, order=True)
class CaseSeries:
    """Identify the case of a check on a partition and environment that several runs repeat.

    ``name`` is ReFrame's name, with the parameters of the case.
    """

    name: str
    partition: str
    environment: str

    @classmethod
    def of(cls, case: Case) -> "CaseSeries":
        return cls(case.name, case.partition, case.environ)

    def __str__(self) -> str:
        return f"{self.name} on {self.partition}+{self.environment}"

    @property
    def slug(self) -> str:
        """Return a name for folders: the check, and a hash of the series."""
        digest = hashlib.sha256("\0".join((self.name, self.partition, self.environment)).encode()).hexdigest()
        return f"{re.sub('[^A-Za-z0-9]', '_', self.name.partition(' ')[0])[:40]}-{digest[:8]}"

    @property
    def reframe_options(self) -> list[str]:
        """Return ReFrame's options that select only this series; ReFrame matches names without blanks."""
        return [f"--name=^{re.escape(self.name.replace(' ', ''))}$", f"--prgenv=^{re.escape(self.environment)}$"]
