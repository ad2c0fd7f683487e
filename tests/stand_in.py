"""Run parts of checks on given results, without ReFrame and without a job."""

import inspect


class StandIn:
    """A check of the class ``leaf`` with what a test gives; all else is the class's, and what it records is kept."""

    def __init__(self, leaf, **given):
        self.leaf = leaf
        self.curves, self.gated, self.heat_maps, self.per_node = {}, {}, {}, {}
        self.findings, self.suspects, self.scaling = [], [], []
        vars(self).update(given)

    def __getattr__(self, name):
        found = inspect.getattr_static(self.leaf, name)
        return found.__get__(self, self.leaf) if hasattr(found, "__get__") else found

    def record_curve(self, name, x, y, points, gated):
        self.curves[name], self.gated[name] = points, gated

    def record_heat_map(self, name, x, y, z, points):
        self.heat_maps[name] = points

    def record_per_node(self, name, unit, values):
        self.per_node[name] = values

    def record_findings(self, findings):
        self.findings += findings

    def require_all_nodes(self, nodes):
        return True

    def require_striping(self):
        return True
