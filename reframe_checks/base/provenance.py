"""Provenance of a result: programs, nodes and versions. The job collects them on its first node."""

import dataclasses
import pathlib
import shlex

import msgspec
import reframe as rfm
import reframe.core.builtins as rfmb
import reframe.utility.typecheck as typ
from reframe.core.exceptions import SanityError

from kappa.core.ground.clean_text import clean
from kappa.core.ground.folders import suite_revision
from kappa.core.ground.whole_files import read_text
from kappa.core.record import evidence
from reframe_checks.base.job_files import sourced
from reframe_checks.parsers import slurm
from spack_envs.installer.reframe_settings import built_spec

# As in `src/job/record_provenance.sh`.
PROVENANCE_FILE = "provenance.txt"
MAX_BYTES = 2**20


class ProvenanceRecorder(rfm.RegressionTestPlugin):
    """Add the collection of the provenance to the job script, and read it back.

    An environment's ``extras`` may have the command that prints the version of its MPI (``mpi_version``), and files
    besides the executable whose checksums are recorded (``hash_files``: {feature: paths}).
    """

    provenance = rfmb.variable(dict, value={}, loggable=True)
    #: The measured programs, if the executable is a script that runs them.
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
            # Each file once: an image serves all features.
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
            self.say_who_hangs()  # raises also if Slurm ended the job
            said = f"the job wrote no {PROVENANCE_FILE} ({err.strerror}); check whether the job started"
            raise SanityError(self.failed_command() or said) from None
        try:
            facts = parse_provenance(text)
        except ValueError as err:
            raise SanityError(f"{PROVENANCE_FILE}, nodelist: expected {err}") from None
        if "nodelist" not in facts:
            self.say_who_hangs()
            raise SanityError(f"{PROVENANCE_FILE}: the line nodelist=… is missing; check whether the job ended early")
        spec = built_spec(pathlib.Path(facts.get("executable", "")))
        found = {
            **facts,
            **({"spec": dataclasses.asdict(spec)} if spec else {}),
            "suite_revision": suite_revision(),
            "slurm_job_id": "" if self.is_local() else str(self.job.jobid),
        }
        self.provenance = evidence.written(msgspec.convert(found, evidence.Provenance))

    def failed_command(self):
        """Return the message of the job script's trap, for instance for a module that does not load; else nothing."""
        said = self.trapped()
        where = f" on {self.job.nodelist[0]}" if self.job.nodelist else ""
        return f"the job script{where} {said}; see the job's standard error" if said else ""

    def trapped(self):
        """Return the first line that the trap for failed commands wrote to standard output, or an empty string."""
        try:
            text = read_text(pathlib.Path(self.stagedir) / str(self.stdout), MAX_BYTES, errors="replace")
        except (OSError, ValueError):
            return ""
        return next((clean(line) for line in text.splitlines() if line.startswith("failed (exit code")), "")


def parse_provenance(text: str) -> dict:
    """Parse the ``key=value`` lines that the job wrote. The first ``sha256`` is the executable's, others are ``files``.

    The list of nodes is the job's own, expanded. Accounting's list may be incomplete when a short job ends.

    :raises ValueError: the list of nodes cannot be read, or is too long.
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
