"""The suite works with the oldest packages that pyproject.toml allows."""

import os
import pathlib
import subprocess
import sys

import pytest

REPOSITORY = pathlib.Path(__file__).parents[2]


@pytest.mark.long
def test_unit_tests_pass_with_the_oldest_packages(tmp_path):
    python = tmp_path / "environment/bin/python"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "environment"], check=True)
    install = [python, "-m", "pip", "install", "--quiet", "--require-hashes", "-r", "tests/release/oldest.lock"]
    subprocess.run(install, cwd=REPOSITORY, check=True)
    own = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "KAPPA_", "RFM_"))}
    # A wheel needs the build tools, and the gate no packages.
    left_out = ["--ignore=tests/unit/test_wheel.py", "--ignore=tests/unit/gate"]
    words = ["-m", "pytest", "tests/unit", "-q", "-m", "not long", "-p", "no:cacheprovider", "-n", "2", *left_out]
    done = subprocess.run(
        [python, *words], cwd=REPOSITORY, capture_output=True, text=True,
        env={**own, "PYTHONPATH": str(REPOSITORY)}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:]
