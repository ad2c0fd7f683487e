"""IOzone: one process reads and writes a storage target over file size and request size, with and without O_SYNC.

With direct I/O, and buffered, as applications use it: there memory answers reads of what was just written, and these
are called ``read_memory`` and ``reread_memory``; writes end on the disks (-e -c).

Gated is the median over the cells of the map, which no single odd cell moves; the report draws the whole map.

IOzone has no stonewall. Direct I/O lets no memory answer, so files stay small, and small requests are tried on files of
``most_requests`` of them at most: at a millisecond a request, as O_SYNC on rotating disks takes, a cell needs a minute.
"""

import itertools
import statistics
from typing import ClassVar

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import ReframeError, SanityError

from kappa.core.vocabulary.scales import SCALES
from reframe_checks.base.cases import SiteVariable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.many_nodes import ManyNodes
from reframe_checks.base.on_storage import OnStorage
from reframe_checks.parsers import file_benchmarks

# Of each request, the four operations together, to say how long a case takes: not what a target should.
OPERATIONS_S = 0.002
# The start of the job.
BESIDES_S = 5
SYNC = {"plain": [], "o_sync": ["-o"]}


class IozoneCheck(ManyNodes, OnStorage, KappaCheck):
    family = "storage/iozone"
    needs_environ = ["iozone"]
    executable = "iozone"
    sync = rfmb.parameter(SYNC, loggable=True)
    time_limit = "1h"
    #: Whether memory is kept out (-I).
    direct = True
    #: What an operation's figure is called, if it is not the operation.
    metric_names: ClassVar[dict[str, str]] = {}
    hint = "rows that are slow throughout point at the request size, columns at the file size: see the heat map"

    file_sizes_mib = SiteVariable([64, 256, 1024], "whole numbers", "MiB", "sizes of the files")
    request_sizes_kib = SiteVariable([4, 64, 1024, 16384], "whole numbers", "KiB", "sizes of the requests")
    most_requests = SiteVariable(
        16384, "whole number", "", "most requests of a file; larger files are left out for small requests"
    )

    def chosen_scale(self):
        return SCALES["one_core"]

    @rfmb.run_after("init")
    def declare_metrics(self):
        self.declare({
            self.metric_of(name): ("MB/s", lambda self, name=name: statistics.median(self.rates[name].values()))
            for name in file_benchmarks.IOZONE_OPERATIONS
        })

    def metric_of(self, operation):
        return self.metric_names.get(operation, operation)

    @rfmb.run_after("setup")
    def require_cells(self):
        if not self.cells():
            sizes = f"{self.file_sizes_mib} MiB by {self.request_sizes_kib} KiB"
            raise ReframeError(f"{self.check_class}: no cell of {sizes} has at most {self.most_requests} requests")

    def command_lines(self):
        return [
            self.launched(self.executable, *self.options(*one), ">", self.output_of(number))
            for number, one in enumerate(self.maps())
        ]

    @staticmethod
    def output_of(number):
        return f"iozone-{number + 1}.txt"

    def options(self, sizes_mib, requests_kib):
        return [
            "-i", "0", "-i", "1", *(["-I"] if self.direct else []), "-e", "-c", *SYNC[self.sync],
            *(word for size in sizes_mib for word in ("-s", f"{size}m")),
            *(word for request in requests_kib for word in ("-r", f"{request}k")),
            "-f", '"$folder/iozone"',
        ]  # fmt: skip

    def cells(self):
        """(file size, request size) in KiB of the map."""
        sizes_kib = [size << 10 for size in self.file_sizes_mib]
        asked = itertools.product(sizes_kib, self.request_sizes_kib)
        return {(size, request) for size, request in asked if size <= request * self.most_requests}

    def maps(self):
        """Runs that together fill the cells: file sizes in MiB, and the request sizes in KiB that all of them have."""
        of_sizes = {}
        for request in self.request_sizes_kib:
            if sizes := tuple(size for size in self.file_sizes_mib if (size << 10, request) in self.cells()):
                of_sizes.setdefault(sizes, []).append(request)
        return list(of_sizes.items())

    def expected_s(self):
        return BESIDES_S + sum(OPERATIONS_S * size / request for size, request in self.cells())

    def most_bytes(self):
        # Each cell writes its file, and writes it again.
        return sum(2 * size << 10 for size, _ in self.cells())

    @rfmb.sanity_function
    def read_map(self):
        self.require_striping()
        self.rates = {operation: {} for operation in file_benchmarks.IOZONE_OPERATIONS}
        for number, (sizes_mib, requests) in enumerate(self.maps()):
            cells = {(size << 10, request) for size in sizes_mib for request in requests}
            text = self.output_text(self.output_of(number))
            result = self.parsed(file_benchmarks.iozone, text, expect_cells=cells)
            if not (result.fsync and result.close):
                raise SanityError("IOzone ran without -e or -c: the figures may be those of memory")
            if result.direct != self.direct:
                raise SanityError(f"IOzone's direct I/O is {result.direct}, asked for {self.direct}")
            if result.sync != bool(SYNC[self.sync]):
                raise SanityError(f"IOzone's O_SYNC is {result.sync}, asked for {self.sync}")
            for operation, rates in result.rates.items():
                self.rates[operation] |= rates
        for operation in file_benchmarks.IOZONE_OPERATIONS:
            axes = ("File size", "KiB"), ("Request size", "KiB"), ("Rate", "MB/s")
            self.record_heat_map(self.metric_of(operation), *axes, self.rates[operation])
            # One plot has it with and without O_SYNC, on all targets.
            largest = max(self.request_sizes_kib)
            rates = {size << 10: rate for (size, request), rate in self.rates[operation].items() if request == largest}
            title = (f"Rate of a {operation} in requests of {largest} KiB", "MB/s")
            self.record_curve(self.metric_of(operation), ("File size", "B"), title, rates, {})
        return True


@rfm.simple_test
class Iozone(IozoneCheck):
    descr = "IOzone: file size x request size, direct I/O"
    estimated_s = 85
    cache_defeat = "direct I/O (-I), flush and close are part of the write (-e -c); read back from IOzone's header"


@rfm.simple_test
class IozoneBuffered(IozoneCheck):
    descr = "IOzone: file size x request size, through the node's memory"
    estimated_s = 85
    modes = ("acceptance",)
    direct = False
    metric_names: ClassVar[dict[str, str]] = {"read": "read_memory", "reread": "reread_memory"}
    informational = ["read_memory", "reread_memory"]
    cache_defeat = "writes: flush and close are part of them (-e -c); reads: none, memory answers, as their names say"
