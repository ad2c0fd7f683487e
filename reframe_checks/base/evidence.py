"""What a check measured beyond its metrics: curves, figures per node and pair, what speaks against which node."""

import reframe as rfm
import reframe.core.builtins as rfmb
import reframe.utility.typecheck as typ


class Evidence(rfm.RegressionTestPlugin):
    #: name -> {x, x_unit, y, y_unit, points: [[x, y], …], gated: {x: metric}}
    curves = rfmb.variable(dict, value={}, loggable=True)
    #: metric -> {unit, values: {node: value}}
    per_node = rfmb.variable(dict, value={}, loggable=True)
    #: name -> {x, x_unit, y, y_unit, z, z_unit, points: [[x, y, z], …]}
    heat_maps = rfmb.variable(dict, value={}, loggable=True)
    #: name -> {unit, nodes, values}: n x n, a row for each node, ``None`` where nothing was measured
    matrices = rfmb.variable(dict, value={}, loggable=True)
    #: Ranked evidence against nodes, links and switches (``localise/finding.py``).
    findings = rfmb.variable(list, value=[], loggable=True)
    #: Nodes that the check's own measurement points at.
    suspects = rfmb.variable(typ.List[str], value=[], loggable=True)
    #: The one line that an operator needs first when the check fails.
    hint = rfmb.variable(str, value="", loggable=True)

    def evidence(self):
        """All of it, by the names of the variables."""
        names = ("curves", "per_node", "heat_maps", "matrices", "findings", "suspects", "hint")
        return {name: getattr(self, name) for name in names}

    def record_curve(self, name, x, y, points, gated):
        """Keep a whole curve.

        :param x, y: (title, unit) of the axes.
        :param points: mapping x -> y.
        :param gated: mapping x -> name of the metric that gates this point.
        """
        self.curves = {
            **self.curves,
            name: {
                "x": x[0], "x_unit": x[1], "y": y[0], "y_unit": y[1],
                "points": [[key, points[key]] for key in sorted(points)],
                "gated": {str(key): metric for key, metric in gated.items()},
            },
        }  # fmt: skip

    def record_heat_map(self, name, x, y, z, points):
        """Keep a quantity over two others.

        :param x, y, z: (title, unit).
        :param points: mapping (x, y) -> z.
        """
        titles = {key: title for key, (title, _) in zip("xyz", (x, y, z), strict=True)}
        units = {f"{key}_unit": unit for key, (_, unit) in zip("xyz", (x, y, z), strict=True)}
        cells = [[*key, points[key]] for key in sorted(points)]
        self.heat_maps = {**self.heat_maps, name: {**titles, **units, "points": cells}}

    def record_per_node(self, metric, unit, values):
        """Keep one figure for each node: mapping node -> value."""
        self.per_node = {**self.per_node, metric: {"unit": unit, "values": dict(sorted(values.items()))}}

    def record_matrix(self, name, unit, nodes, values):
        """Keep a figure for each pair of nodes: a row for each node."""
        self.matrices = {**self.matrices, name: {"unit": unit, "nodes": list(nodes), "values": values}}

    def record_findings(self, findings):
        """Keep what speaks against nodes, links and switches; the strongest becomes the operator's hint."""
        self.findings = [finding.as_evidence() for finding in findings]
        self.suspects = sorted({finding.name for finding in findings if finding.kind == "node"})
        if findings:
            first = findings[0]
            self.hint = f"{first.kind} {first.name}: {first.quantity} {first.evidence}; {self.hint}"
