"""A plug-in for checks of the nodes themselves, which take their time: once on a partition, not in each environment."""

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.runtime import valid_sysenv_comb


class OncePerPartition(rfm.RegressionTestPlugin):
    """A case in the first environment of each partition.

    ReFrame takes environments for all of a check's partitions together: a partition that also has the first one of
    another runs the check in both.
    """

    @rfmb.run_after("init")
    def choose_first_environments(self):
        offered = valid_sysenv_comb(self.valid_systems, ["*"])
        self.valid_prog_environs = sorted({environ.name for environs in offered.values() for environ in environs[:1]})
