"""Every job script of a site, written by ReFrame's dry run on a machine that is not the site."""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys
from dataclasses import dataclass

from kappa.core.vocabulary.modes import FULL

REPOSITORY = pathlib.Path(__file__).parents[2]
SITES = REPOSITORY / "site_configs"
EXAMPLES = ("ibisco-like", "cpu-infiniband")
_CASE = re.compile(
    r"^\[ DRY +\] (?P<check>\w+)(?P<parameters>(?: %\S+=\S*)*)(?: ~\S+)? /(?P<hash>\w+) @(?P<place>\S+)$", re.MULTILINE
)


@dataclass(frozen=True)
class Script:
    check: str
    name: str
    """As ReFrame has it in its records."""
    parameters: dict[str, str]
    partition: str
    environ: str
    path: pathlib.Path

    @property
    def text(self):
        return self.path.read_text(encoding="utf-8")

    @property
    def sbatch(self):
        """The options of the job."""
        return set(re.findall(r"^#SBATCH (.*)$", self.text, re.MULTILINE))

    @property
    def exports(self):
        return dict(re.findall(r"^export (\w+)=(.*)$", self.text, re.MULTILINE))

    @property
    def series(self):
        """The commands of the job, those that it sources from a file first."""
        path = self.path.with_name("series.sh")
        return (path.read_text(encoding="utf-8") if path.exists() else "") + self.text

    @property
    def srun(self):
        """The commands that run on the nodes."""
        return re.findall(r"^srun .*$", self.series, re.MULTILINE)


@dataclass(frozen=True)
class Site:
    name: str
    output: str
    scripts: list[Script]
    report: pathlib.Path

    def find(self, check, **parameters):
        """The scripts of a check with these parameters."""
        return [
            script
            for script in self.scripts
            if script.check == check and parameters.items() <= script.parameters.items()
        ]

    def one(self, check, **parameters):
        found = self.find(check, **parameters)
        assert len(found) == 1, f"{len(found)} scripts of {check} with {parameters}"
        return found[0]


def dry_run(name, folder, mode=FULL):
    """Runs it without any Slurm, Spack or installed environment to ask."""
    done = subprocess.run(
        [
            pathlib.Path(sys.executable).with_name("reframe"), "--nocolor", "-C", SITES / name / "settings.py",
            "-c", REPOSITORY / "reframe_checks", "-R", f"--mode={mode}", "--dry-run", "--prefix", folder,
            f"--report-file={folder / 'report.json'}",
        ],
        env={**os.environ, "SLURM_CONF": os.devnull, "KAPPA_SPACK_STATE": str(folder / "no-spack")},
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    scripts = [_script(folder / "stage", match) for match in _CASE.finditer(done.stdout)]
    return Site(name, done.stdout, scripts, folder / "report.json")


def _script(stage, match):
    system, _, rest = match["place"].partition(":")
    partition, _, environ = rest.partition("+")
    case = stage / system / partition / environ
    # A case without parameters has no hash in its folder's name.
    folder = next(path for path in (case / f"{match['check']}_{match['hash']}", case / match["check"]) if path.is_dir())
    parameters = dict(word.lstrip("%").split("=", 1) for word in match["parameters"].split())
    name = match["check"] + match["parameters"]
    return Script(match["check"], name, parameters, partition, environ, folder / "rfm_job.sh")


def settings(name):
    """The site's ``site_configuration``."""
    spec = importlib.util.spec_from_file_location("settings_of_example", SITES / name / "settings.py")
    module = importlib.util.module_from_spec(spec)
    prefix = os.environ.pop("RFM_REFERENCE_PREFIX", None)
    try:
        spec.loader.exec_module(module)
    finally:
        os.environ.pop("RFM_REFERENCE_PREFIX", None)
        if prefix is not None:
            os.environ["RFM_REFERENCE_PREFIX"] = prefix
    return module.site_configuration
