"""What a case costs, said before it runs: seconds of its nodes, and the bytes that it writes at most.

A plan of a night (``kappa plan``) adds them up; what a case wrote is recorded with its result.
"""

import math

import reframe as rfm
import reframe.core.builtins as rfmb


class StatedCost(rfm.RegressionTestPlugin):
    """Leaves whose cost follows from their sizes override ``expected_s``, ``most_bytes`` and ``wrote_bytes``."""

    #: What the job takes of its nodes by what the check says, s.
    stated_s = rfmb.variable(float, int, value=0, loggable=True)
    #: What the case writes at most to storage that it measures, bytes.
    stated_bytes = rfmb.variable(int, value=0, loggable=True)
    #: What it wrote there, bytes.
    written_bytes = rfmb.variable(int, value=0, loggable=True)

    def expected_s(self):
        """Seconds of the job: by sizes and tuning where a leaf says so, else what the class says of any case."""
        return self.measured_s or self.estimated_s

    def most_bytes(self):
        """Bytes, of all ranks and repeats."""
        return 0

    def wrote_bytes(self):
        """Bytes, once the output has been read; a check that stops at a stonewall knows it from its output alone."""
        return self.most_bytes()

    def no_longer_than(self, max_time):
        """Have the job ask for no more than the partition gives (``10m``)."""
        asked_s = self.time_limit or math.inf
        self.time_limit = max_time
        self.time_limit = min(asked_s, self.time_limit)

    # After tuning and the layout of ranks, which sizes follow from.
    @rfmb.run_before("run")
    def state_cost(self):
        self.stated_s, self.stated_bytes = self.expected_s(), self.most_bytes()
        max_time = self.current_partition.extras.get("max_time")
        if max_time and self.stated_s > self.time_limit:
            # ReFrame records no reason of a skip.
            self.hint = f"it takes some {self.stated_s:.0f} s, and `max_time` of the partition is {max_time}"
            self.skip(self.hint)

    @rfmb.run_after("sanity")
    def record_written(self):
        if not self.is_dry_run():
            self.written_bytes = self.wrote_bytes()
