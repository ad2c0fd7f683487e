"""Plug-ins that give a check its cases: over the table's scales, or over its placements of two ranks."""

import reframe as rfm
import reframe.core.builtins as rfmb

from reframe_checks.base.scales import PLACEMENTS, SCALES


class Scaled(rfm.RegressionTestPlugin):
    """A case for each scale; leaves narrow the list."""

    scale = rfmb.parameter(SCALES, loggable=True)

    def chosen_scale(self):
        return SCALES[self.scale]

    @classmethod
    def alternative_features(cls):
        return [[SCALES[name].feature] for name in cls.raw_params["scale"].values]

    @rfmb.run_after("init")
    def tag_scale(self):
        self.tags |= {self.chosen_scale().feature}


class Placed(rfm.RegressionTestPlugin):
    """A case for each placement of two ranks."""

    placement = rfmb.parameter(PLACEMENTS, loggable=True)

    def chosen_scale(self):
        return PLACEMENTS[self.placement]

    @classmethod
    def alternative_features(cls):
        return [[PLACEMENTS[name].feature] for name in cls.raw_params["placement"].values]

    @rfmb.run_after("init")
    def tag_scale(self):
        self.tags |= {self.chosen_scale().feature, f"placement_{self.placement}"}
