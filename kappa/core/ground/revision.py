"""The revision of the suite."""

import contextlib
import functools
import subprocess

from kappa import __version__
from kappa.core.ground.folders import SUITE, installed


@functools.cache
def suite_revision() -> str:
    """Return ``git describe`` of this suite, or the package's version if the suite is not a checkout."""
    if not installed():  # an installed package may lie inside another checkout
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            described = subprocess.run(
                ["git", "-C", str(SUITE), "describe", "--always", "--dirty", "--abbrev=12"],
                capture_output=True,
                text=True,
                timeout=10,
                check=True,
            )
            return described.stdout.strip()
    return f"kappa-validation {__version__}"
