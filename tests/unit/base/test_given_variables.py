"""Variables on ReFrame's command line win over the site's tuning: every tunable of every check class."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from kappa.core.vocabulary.checks import catalogue
from kappa.core.vocabulary.tunables import TYPES

REPOSITORY = pathlib.Path(__file__).parents[3]
# For each type: the user's text, the check's value, and the site's setting.
VALUES = {
    "whole number": ("7", 7, 5),
    "number": ("0.75", 0.75, 0.5),
    "yes or no": ("no", False, True),
    "text": ("1x8", "1x8", "4x2"),
    "auto or message": ("message", "message", "auto"),
    "whole numbers": ("4,9", [4, 9], [1, 16]),
    "numbers": ("0.5,0.75", [0.5, 0.75], [0.25]),
    "text, or one for each scale": ("C", "C", "D"),
}
TUNABLES = {
    (name, variable): VALUES[tunable.type]
    for name, check in catalogue().items()
    for variable, tunable in check.tunables.items()
}
SETTINGS = """
site_configuration = {
    "systems": [{"name": "here", "hostnames": [".*"], "partitions": [{
        "name": "cpu", "scheduler": "local", "launcher": "local", "environs": ["plain"], "extras": {"nodes": 4},
    }]}],
    "environments": [{"name": "plain"}],
}
"""
# ReFrame makes the suite's cases as its command line says; then the site's tuning is applied to one of each class.
TUNE = """
import json, pathlib, types

from reframe.frontend import cli, loader

made = {}
load_all = loader.RegressionCheckLoader.load_all


def keep(self, **options):
    checks = load_all(self, **options)
    made.update((type(check).__name__, check) for check in checks)
    return checks


loader.RegressionCheckLoader.load_all = keep
try:
    cli.main()
except SystemExit as end:
    assert not end.code, end.code
found = {}
for name, tuning in json.loads(pathlib.Path("site.json").read_text()).items():
    check = made[name]
    check._current_partition = types.SimpleNamespace(fullname="here:cpu", extras={"tuning": {name: tuning}})
    check.apply_site_tuning()
    found[name] = {variable: getattr(check, variable) for variable in tuning}
pathlib.Path("found.json").write_text(json.dumps(found))
"""
# One word for all classes with that variable: of the few that have it of several types, one that each of these takes.
SEVERAL_TYPES = {
    variable: "7" for _, variable in TUNABLES if len({TUNABLES[one][0] for one in TUNABLES if one[1] == variable}) > 1
}
BY_CLASS, BY_VARIABLE, BY_NOBODY = "CLASS.VARIABLE=VALUE", "VARIABLE=VALUE", "not given"
WORDS = {
    BY_CLASS: {f"{name}.{variable}={said}" for (name, variable), (said, *_) in TUNABLES.items()},
    BY_VARIABLE: {f"{name}={SEVERAL_TYPES.get(name, said)}" for (_, name), (said, *_) in TUNABLES.items()},
    BY_NOBODY: set(),
}


@pytest.fixture(scope="module", params=WORDS)
def tuned(request, tmp_path_factory):
    """How the variables were given, and what the checks then have: class -> variable -> value."""
    folder = tmp_path_factory.mktemp("tuned")
    site: dict[str, dict[str, object]] = {}
    for (name, variable), (*_, value) in TUNABLES.items():
        site.setdefault(name, {})[variable] = value
    (folder / "site.json").write_text(json.dumps(site))
    (folder / "settings.py").write_text(SETTINGS)
    done = subprocess.run(
        [
            sys.executable, "-c", TUNE, "-C", "settings.py", "-c", REPOSITORY / "reframe_checks", "-R", "-l",
            "--prefix", folder, "--skip-system-check", "--skip-prgenv-check",
            *(f"--setvar={word}" for word in sorted(WORDS[request.param])),
        ],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)}, cwd=folder, capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return request.param, json.loads((folder / "found.json").read_text())


def test_every_type_of_tunable_has_values_here():
    assert set(VALUES) == set(TYPES)


@pytest.mark.parametrize(("name", "variable"), TUNABLES)
def test_the_command_line_wins_over_the_site_and_the_site_over_the_class(tuned, name, variable):
    how, found = tuned
    _, given, of_site = TUNABLES[name, variable]
    if how == BY_VARIABLE and variable in SEVERAL_TYPES:
        given = [7] if isinstance(given, list) else 7
    assert found[name][variable] == (of_site if how == BY_NOBODY else given)


PLAYED = """
import reframe as rfm
import reframe.core.builtins as rfmb

from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.base.check import SystemCheck


@rfm.simple_test
class Played(SystemCheck):
    family = "played/sizes"
    estimated_s = 1
    size = rfmb.variable(int, value=1)
    tunable = {"size": Tunable("whole number", "", "as it says")}

    @rfmb.run_after("setup")
    def command_line(self):
        self.executable, self.executable_opts = "echo", [str(self.size)]

    def most_bytes(self):
        return self.size

    @rfmb.sanity_function
    def read(self):
        return bool(self.output_text())
"""


@pytest.mark.parametrize(
    ("given", "sizes"),
    [([], [5]), (["-S", "Played.size=7"], [7]), (["-S", "size=7"], [7]), (["-S", "Other.size=7"], [5]),
     (["-P", "Played.size=7,8"], [7, 8]), (["-S", "size=7", "--repeat=2"], [7, 7])],
)  # fmt: skip
def test_a_run_uses_and_records_the_size_that_was_given(given, sizes, tmp_path):
    (tmp_path / "settings.py").write_text(
        SETTINGS.replace('"nodes": 4', '"nodes": 4, "tuning": {"Played": {"size": 5}}')
    )
    (tmp_path / "played.py").write_text(PLAYED)
    done = subprocess.run(
        [
            sys.executable, "-c", "from reframe.frontend.cli import main; main()", "-C", "settings.py",
            "-c", "played.py", "-r", "--prefix", tmp_path, "--report-file=report.json", *given,
        ],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)}, cwd=tmp_path, capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip
    report = tmp_path / "report.json"
    assert report.exists(), done.stdout + done.stderr
    cases = json.loads(report.read_text())["runs"][0]["testcases"]
    assert sorted(case["stated_bytes"] for case in cases) == sizes, done.stdout
    said = sorted(int(path.read_text()) for path in tmp_path.rglob("rfm_job.out"))
    assert said == sizes
