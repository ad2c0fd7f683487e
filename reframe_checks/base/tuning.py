"""Site tuning: sizes that depend on the machine come from the partition, not from the check.

A partition's ``extras`` may hold ``tuning: {Class: {variable: value}}`` for variables that the class lists
in ``tunable``; anything else there is an error.
"""

import reframe as rfm
import reframe.core.builtins as rfmb
import reframe.utility.typecheck as typ
from reframe.core.exceptions import ReframeError

from kappa.vocabulary.tunables import Tunable


class Tuning(rfm.RegressionTestPlugin):
    #: The variables that a site may set: name -> ``Tunable``.
    tunable = rfmb.variable(typ.Dict[str, Tunable], value={})

    @rfmb.run_after("setup")
    def apply_site_tuning(self):
        name = type(self).__name__
        settings = self.current_partition.extras.get("tuning", {}).get(name, {})
        for variable, value in settings.items():
            if variable not in self.tunable:
                raise ReframeError(
                    f"partition {self.current_partition.fullname}: extras/tuning/{name}/{variable} cannot be set; "
                    f"{name} lets a site set {', '.join(self.tunable) or 'nothing'}"
                )
            setattr(self, variable, value)
