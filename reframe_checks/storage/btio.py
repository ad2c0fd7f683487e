"""BT-IO on a node, on two and on all: time, the share of it that output takes, and the rates of both."""

import reframe as rfm
import reframe.core.builtins as rfmb

from reframe_checks.storage.btio_base import BtIoRuns


@rfm.simple_test
class BtIo(BtIoRuns):
    descr = "BT-IO: solver with parallel output"
    family = "storage/btio"
    estimated_s = 60
    scale = rfmb.parameter(["one_node", "two_nodes", "whole_partition"], loggable=True)
    hint = "compare subtype full with simple, and with IOR collective and independent on the same target"

    @rfmb.sanity_function
    def read_results(self):
        self.require_striping()
        self.result = self.median_run()
        return True

    @rfmb.performance_function("s")
    def total_time(self):
        return self.result.total_s

    @rfmb.performance_function("%")
    def io_share(self):
        return self.result.io_percent

    @rfmb.performance_function("MB/s")
    def io_rate(self):
        return self.result.mb_s

    @rfmb.performance_function("Mop/s")
    def mop_s(self):
        return self.result.mop_s
