"""Provenance of a result: programs, nodes and versions, collected by the job itself on its first node."""

import contextlib
import dataclasses
import functools
import pathlib
import shlex
import subprocess

import msgspec
import reframe as rfm
import reframe.core.builtins as rfmb
import reframe.utility.typecheck as typ
from reframe.core.exceptions import SanityError

from kappa import __version__
from kappa.core.ground.clean_text import clean
from kappa.core.ground.folders import installed
from kappa.core.ground.whole_files import read_text
from kappa.core.record import evidence
from reframe_checks.base.job_files import sourced
from reframe_checks.parsers import slurm
from spack_envs.installer.reframe_settings import built_spec

# As in `src/job/record_provenance.sh`.
PROVENANCE_FILE = "provenance.txt"
MAX_BYTES = 2**20


class ProvenanceRecorder(rfm.RegressionTestPlugin):
    """Adds the collection to the job script and reads it back.

    An environment may say in its ``extras`` how to ask its MPI for its version (``mpi_version``, a command)
    and which files besides the executable decide what runs (``hash_files``: {feature: paths}).
    """

    provenance = rfmb.variable(dict, value={}, loggable=True)
    #: The programs that are measured, if not the executable (a script that runs them).
    programs = rfmb.variable(typ.List[str], value=[])

    @rfmb.run_before("run")
    def collect_provenance(self):
        extras = self.current_environ.extras
        version = extras.get("mpi_version", "mpirun --version")
        hashed = extras.get("hash_files", {})
        words = [
            sourced(self, "record_provenance.sh"),
            f'"$({version} 2>/dev/null | head -n 1)"',
            *(f'"$(command -v {shlex.quote(program)})"' for program in self.programs or [self.executable]),
            # Each once: an image has all features.
            *dict.fromkeys(
                shlex.quote(path)
                for need in self.needs_environ
                for feature in need.split("|")
                for path in hashed.get(feature, [])
            ),
        ]
        self.prerun_cmds = [*self.prerun_cmds, " ".join(words)]
        self.keep_files = [*self.keep_files, PROVENANCE_FILE]

    @rfmb.run_after("run")
    def read_provenance(self):
        if self.is_dry_run():
            return
        path = pathlib.Path(self.stagedir) / PROVENANCE_FILE
        try:
            text = read_text(path, MAX_BYTES, errors="replace")
        except OSError as err:
            self.say_who_hangs()  # or that Slurm has ended the job before
            said = f"the job wrote no {PROVENANCE_FILE} ({err.strerror}): did it start?"
            raise SanityError(self.failed_command() or said) from None
        try:
            facts = parse_provenance(text)
        except ValueError as err:
            raise SanityError(f"{PROVENANCE_FILE}, nodelist: expected {err}") from None
        if "nodelist" not in facts:
            self.say_who_hangs()
            raise SanityError(f"{PROVENANCE_FILE}: expected the line nodelist=…; was the job cut off?")
        spec = built_spec(pathlib.Path(facts.get("executable", "")))
        found = {
            **facts,
            **({"spec": dataclasses.asdict(spec)} if spec else {}),
            "suite_revision": suite_revision(),
            "slurm_job_id": "" if self.is_local() else str(self.job.jobid),
        }
        self.provenance = evidence.written(msgspec.convert(found, evidence.Provenance))

    def failed_command(self):
        """Return what the job script's trap said, as of a module that does not load; it runs on the first node."""
        said = self.trapped()
        where = f" on {self.job.nodelist[0]}" if self.job.nodelist else ""
        return f"the job script{where} {said}; see the job's standard error" if said else ""

    def trapped(self):
        """The first line that a trap for failed commands wrote to standard output."""
        try:
            text = read_text(pathlib.Path(self.stagedir) / str(self.stdout), MAX_BYTES, errors="replace")
        except (OSError, ValueError):
            return ""
        return next((clean(line) for line in text.splitlines() if line.startswith("failed (exit code")), "")


def parse_provenance(text: str) -> dict:
    """The ``key=value`` lines that the job wrote; the first ``sha256`` is the executable's, others are ``files``.

    The job's own list of nodes is expanded; the accounting's may still be incomplete when a short job ends.

    :raises ValueError: it is no list of nodes, or too long.
    """
    result: dict = {"files": {}}
    for line in text.splitlines():
        key, _, value = line.partition("=")
        if key == "nodelist":
            result[key] = slurm.expand_nodes(value)
            continue
        if key != "sha256":
            result[key] = value
            continue
        digest, _, path = value.partition("  ")
        if "sha256" in result:
            result["files"][path] = digest
        else:
            result["sha256"], result["executable"] = digest, path
    return result


@functools.cache
def suite_revision() -> str:
    """``git describe`` of this suite, or the version of the installed package when it is not a checkout."""
    if not installed():  # which may be inside of another checkout
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            described = subprocess.run(
                ["git", "-C", str(pathlib.Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=12"],
                capture_output=True,
                text=True,
                timeout=10,
                check=True,
            )
            return described.stdout.strip()
    return f"kappa-validation {__version__}"
