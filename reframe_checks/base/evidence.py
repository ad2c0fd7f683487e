"""Evidence that a check measures besides its metrics: curves, figures per node and per pair, and findings.

All evidence is written with the structures of ``kappa.core.record.evidence``, which also read reports. A value of a
wrong type fails the check that records it, with the name of the field.
"""

import pathlib
from typing import ClassVar

import numpy as np
import reframe as rfm
import reframe.core.builtins as rfmb
import reframe.utility.typecheck as typ
from reframe.core.runtime import runtime

from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.figures import counted
from kappa.core.record.evidence import Curve, HeatMap, Measurement, PerNode, written
from kappa.core.record.matrices import recorded
from kappa.core.record.runs import MATRICES
from reframe_checks.parsers.foreign_lines import lines_by_speaker

MOST_OF_A_LINE = 160


class EvidenceRecorder(rfm.RegressionTestPlugin):
    """Variables with the names and the shapes of the fields of ``Measurement``, and methods that fill them."""

    curves = rfmb.variable(dict, value={}, loggable=True)
    per_node = rfmb.variable(dict, value={}, loggable=True)
    heat_maps = rfmb.variable(dict, value={}, loggable=True)
    matrices = rfmb.variable(dict, value={}, loggable=True)
    findings = rfmb.variable(list, value=[], loggable=True)
    suspects = rfmb.variable(typ.List[str], value=[], loggable=True)
    hint = rfmb.variable(str, value="", loggable=True)
    #: For a benchmark with rules: ``valid by RULES``, or the rules that the result breaks.
    validity = rfmb.variable(str, value="", loggable=True)
    #: Remarks for readers of the figures.
    notes = rfmb.variable(typ.List[str], value=[], loggable=True)
    #: Name of a library or program -> number of its lines in the output, and the first line.
    _set_aside: ClassVar[dict] = {}

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
