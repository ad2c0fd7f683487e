"""The simulator's own unit tests: closed forms, lattice diagrams, orders of accuracy, steady state, case rules."""

import os
import subprocess

from .conftest import MPI_ENVIRONMENT, Emt


def test_unit_tests_pass(emt: Emt) -> None:
    done = subprocess.run(
        ["ctest", "--test-dir", str(emt.program.parent), "--output-on-failure", "--no-tests=error"],
        capture_output=True,
        text=True,
        env=os.environ | MPI_ENVIRONMENT,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
