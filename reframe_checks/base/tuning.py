"""Site tuning: sizes that depend on the machine come from the partition, not from the check.

A partition's ``extras`` may hold ``tuning: {Class: {variable: value}}`` for variables that the class lists
in ``tunable``; anything else there is an error. A variable given on ReFrame's command line keeps that value.
"""

import reframe as rfm
import reframe.core.builtins as rfmb
import reframe.utility.typecheck as typ
from reframe.core.exceptions import ReframeError

from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.base.reframe_internals import given_by_user


class Tuning(rfm.RegressionTestPlugin):
    #: The variables that a site may set: name -> ``Tunable``.
    tunable = rfmb.variable(typ.Dict[str, Tunable], value={})

    @rfmb.run_after("setup")
    def apply_site_tuning(self):
        for variable, value in self.site_tuning(self.current_partition).items():
            if variable not in self.tunable:
                name = type(self).__name__
                raise ReframeError(
                    f"partition {self.current_partition.fullname}: extras/tuning/{name}/{variable} cannot be set; "
                    f"{name} lets a site set {', '.join(self.tunable) or 'nothing'}"
                )
            setattr(self, variable, value)

    def site_tuning(self, partition):
        """Return what the site sets on ``partition``, name -> value, without the variables that the user gave."""
        settings = partition.extras.get("tuning", {}).get(type(self).__name__, {})
        return {name: value for name, value in settings.items() if not given_by_user(self, name)}
