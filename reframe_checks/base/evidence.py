"""The evidence of a check: what its job wrote, the provenance, curves, figures per node and pair, and findings."""

import dataclasses
import pathlib
import re
import shlex
from typing import ClassVar

import msgspec
import numpy as np
import reframe as rfm
import reframe.core.builtins as rfmb
import reframe.utility.typecheck as typ
from reframe.core.exceptions import SanityError
from reframe.core.runtime import runtime

from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.figures import counted
from kappa.core.ground.folders import suite_revision
from kappa.core.ground.whole_files import read_bytes, read_text
from kappa.core.record.evidence import Curve, HeatMap, Measurement, PerNode, Provenance, written
from kappa.core.record.matrices import recorded
from kappa.core.record.runs import MATRICES
from reframe_checks.base.job_files import sourced
from reframe_checks.base.kept_state import kept_file, write_state
from reframe_checks.parsers import job_scripts
from reframe_checks.parsers.foreign_lines import lines_by_speaker
from reframe_checks.parsers.text import ParseError
from spack_envs.installer.reframe_settings import built_spec

# As in `src/job/record_provenance.sh`.
PROVENANCE_FILE = "provenance.txt"
MAX_PROVENANCE_BYTES = 2**20
# Limits the memory of the login node if a program writes without end.
MAX_OUTPUT_BYTES = 256 * 2**20
MOST_OF_A_LINE, MAX_ERROR_CHARS = 160, 300
# srun and slurmstepd write the exit code of tasks, which is no cause.
_ERROR = re.compile(r"(?!srun: |slurmstepd)(?=.*\berror\b)", re.IGNORECASE)


class CheckEvidence(rfm.RegressionTestPlugin):
    """What the job wrote, and what the check concludes from it besides its metrics.

    All evidence is written with the structures of ``kappa.core.record.evidence``, which also read reports; the
    variables have the names and the shapes of the fields of ``Measurement``. A value of a wrong type fails the check
    that records it, with the name of the field.

    ==============  ==================================================  ==============================================
    phase           what happens                                        what a check may set or override
    ==============  ==================================================  ==============================================
    before run      ``collect_provenance``: the job collects it on      ``programs``
                    its first node
    after run       ``read_provenance``; after all other hooks,         ``keep_files``
                    ``keep_the_state``
    before sanity   ``say_why_the_job_failed``                          ``why_failed``
    sanity          the check's sanity function: ``parsed``,            ``hint``, ``failure_means``, ``notes``
                    ``output_text``, ``record_…``, ``suspects``
    ==============  ==================================================  ==============================================

    An environment's ``extras`` may have the command that prints the version of its MPI (``mpi_version``), and files
    besides the executable whose checksums are recorded (``hash_files``: {feature: paths}).
    """

    provenance = rfmb.variable(dict, value={}, loggable=True)
    #: The measured programs, if the executable is a script that runs them.
    programs = rfmb.variable(typ.List[str], value=[])
    curves = rfmb.variable(dict, value={}, loggable=True)
    per_node = rfmb.variable(dict, value={}, loggable=True)
    heat_maps = rfmb.variable(dict, value={}, loggable=True)
    matrices = rfmb.variable(dict, value={}, loggable=True)
    findings = rfmb.variable(list, value=[], loggable=True)
    suspects = rfmb.variable(typ.List[str], value=[], loggable=True)
    hint = rfmb.variable(str, value="", loggable=True)
    #: Meaning of a failure of the check, and the remedy: one or two plain sentences, for its page.
    failure_means = rfmb.variable(str, value="")
    #: For a benchmark with rules: ``valid by RULES``, or the rules that the result breaks.
    validity = rfmb.variable(str, value="", loggable=True)
    #: Remarks for readers of the figures.
    notes = rfmb.variable(typ.List[str], value=[], loggable=True)
    #: Name of a library or program -> number of its lines in the output, and the first line.
    _set_aside: ClassVar[dict] = {}
    #: Whether to keep the state beside the output: with it, the figures can be derived again.
    keep_state = rfmb.variable(typ.Bool, value=False)
    #: Whether it reads kept output again; see ``kept_state.measured_again``.
    reads_again = False

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
            text = read_text(path, MAX_PROVENANCE_BYTES, errors="replace")
        except OSError as err:
            self.say_who_hangs()  # raises also if Slurm ended the job
            said = f"the job wrote no {PROVENANCE_FILE} ({err.strerror}); check whether the job started"
            raise SanityError(self.failed_command() or said) from None
        try:
            facts = job_scripts.provenance(text)
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
        self.provenance = written(msgspec.convert(found, Provenance))

    @rfmb.run_after("run", always_last=True)
    def keep_the_state(self):
        if self.keep_state and not self.is_dry_run():
            self.kept(write_state(self))

    @rfmb.run_before("sanity")
    def say_why_the_job_failed(self):
        """Raise what a failed job says. ReFrame would say its exit code and not read the outputs."""
        code = 0 if self.is_dry_run() else self.job.exitcode
        if code:
            try:
                why = self.why_failed()
            except (ParseError, SanityError) as err:  # it ended before it wrote its outputs
                why = str(err)
            raise SanityError(": ".join(filter(None, [f"job exited with exit code {code}", why])))

    def why_failed(self):
        """Return the first error in the job's standard error that Slurm did not write, or an empty string.

        A check whose outputs say more returns that, and makes the node at fault a suspect.
        """
        lines = self.output_text(str(self.stderr)).splitlines()
        return next((one_line(line, MAX_ERROR_CHARS) for line in lines if _ERROR.match(line)), "")

    def output_text(self, name=None):
        """Return the text of the job's standard output, or of the stage folder's file ``name``, and keep the file."""
        if not name:
            return self.what_is_in(str(self.stdout), read_text, errors="replace")
        return self.what_is_in(self.kept(name), read_text, errors="replace")

    def output_bytes(self, name):
        """Return the bytes of the file ``name`` in the stage folder, and keep the file."""
        return self.what_is_in(self.kept(name), read_bytes)

    def kept(self, name):
        """Have ReFrame keep the file ``name`` of the stage folder as raw output, and return ``name``."""
        # ReFrame copies the files that exist, and leaves the stage folder of a failed check.
        self.keep_files = [*self.keep_files, name]
        return name

    def what_is_in(self, name, read, **how):
        path = pathlib.Path(self.stagedir, name)
        if self.reads_again:
            path = kept_file(path, self.stagedir)
        try:
            return read(path, MAX_OUTPUT_BYTES, **how)
        except OSError as err:
            raise SanityError(f"cannot read {name}: {err.strerror}") from err

    def parsed(self, parse, text, **kwargs):
        """Return ``parse(text)``.

        :raises SanityError: the parser refused the text.
        """
        self.note_lines_of_others(text)
        try:
            return parse(text, **kwargs)
        except ParseError as err:
            raise SanityError(str(err)) from None

    def require_all_nodes(self, nodes):
        """Return True if ``nodes`` has every node of the job; for use in sanity functions.

        :raises SanityError: a node is missing.
        """
        missing = set(self.provenance["nodelist"]) - set(nodes)
        if missing:
            raise SanityError(f"the output has no figure from {', '.join(sorted(missing))}")
        return True

    def failed_command(self):
        """Return the message of the job script's trap, for instance for a module that does not load; else nothing."""
        said = self.trapped()
        where = f" on {self.job.nodelist[0]}" if self.job.nodelist else ""
        return f"the job script{where} {said}; see the job's standard error" if said else ""

    def trapped(self):
        """Return the first line that the trap for failed commands wrote to standard output, or an empty string."""
        try:
            text = read_text(pathlib.Path(self.stagedir) / str(self.stdout), MAX_PROVENANCE_BYTES, errors="replace")
        except (OSError, ValueError):
            return ""
        return next((clean(line) for line in text.splitlines() if line.startswith("failed (exit code")), "")

    def evidence(self):
        """Return all evidence: name of the variable -> value."""
        names = [name for name in Measurement.__struct_fields__ if name != "perfvalues"]
        return {name: getattr(self, name) for name in names}

    @property
    def matrix_folder(self):
        """The folder for files of large matrices: beside the session's raw output, which retention removes."""
        return pathlib.Path(runtime().output_prefix).parent / MATRICES

    def note_lines_of_others(self, text):
        """Note which other programs wrote lines into ``text``; parsers set these lines aside."""
        self.note_set_aside({speaker.name: (len(lines), lines[0]) for speaker, lines in lines_by_speaker(text).items()})

    def note_set_aside(self, found):
        """Add the lines that one output set aside to the notes.

        :param found: as ``_set_aside``, for one output.
        """
        for name, (number, first) in found.items():
            before, shown = self._set_aside.get(name, (0, first))
            self._set_aside = {**self._set_aside, name: (before + number, shown)}
        self.notes = [
            f"{counted(number, 'line')} of {name} in the output set aside, the first: "
            f"{one_line(clean(first), MOST_OF_A_LINE)}"
            for name, (number, first) in self._set_aside.items()
        ]

    def record_curve(self, name, x, y, points, gated):
        """Record a whole curve.

        :param x, y: (title, unit) of the axes.
        :param points: mapping x -> y.
        :param gated: mapping x -> name of the metric that gates this point.
        """
        curve = Curve(*x, *y, points=sorted(points.items()), gated={str(key): gated[key] for key in gated})
        self.curves = {**self.curves, name: written(curve)}

    def record_heat_map(self, name, x, y, z, points):
        """Record one quantity as a function of two others.

        :param x, y, z: (title, unit).
        :param points: mapping (x, y) -> z.
        """
        cells = [(*key, points[key]) for key in sorted(points)]
        self.heat_maps = {**self.heat_maps, name: written(HeatMap(*x, *y, *z, points=cells))}

    def record_per_node(self, metric, unit, values):
        """Record one figure for each node: mapping node -> value."""
        self.per_node = {**self.per_node, metric: written(PerNode(unit, dict(sorted(values.items()))))}

    def record_matrix(self, name, unit, nodes, values, of="nodes"):
        """Record a figure for each pair of nodes, or of groups of nodes: n x n, NaN where nothing was measured."""
        values = np.array(values, dtype=float)
        self.matrices = {**self.matrices, name: written(recorded(unit, nodes, values, self.matrix_folder, of))}

    def record_findings(self, findings):
        """Record findings about nodes, links and switches; the first, the strongest, becomes the operator's hint."""
        self.findings = [written(finding) for finding in findings]
        self.suspects = sorted({finding.name for finding in findings if finding.kind == "node"})
        if findings:
            first = findings[0]
            self.hint = f"{first.kind} {first.name}: {first.quantity} {first.evidence}; {self.hint}"
