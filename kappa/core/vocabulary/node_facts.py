"""The table of the facts of a node, and how nodes are compared by each fact.

``reframe_checks/node/src/node_facts`` reads the facts on the nodes. A site may state the expected value of any fact
(``node_facts`` of a partition). Then Kappa compares with this value, not with most nodes.
"""

import enum
import fnmatch
import functools
from collections.abc import Collection
from dataclasses import dataclass

import msgspec

Value = int | float | str | bool | list[str] | None


class Rule(enum.Enum):
    """The condition under which a node's value of a fact is odd."""

    EQUAL = "differs from most nodes"
    THERE = "differs from most nodes, or is missing"
    ALIKE = "differs from most nodes that report a value"
    TRUE = "is false"
    CLOSE = "differs from the median by more than 2 %"
    ALIEN = "exists on at most half of the nodes"
    HALF = "is below half of the median"
    SCARCE = "is below 5 % and below half of the median"
    NONE = "exists and is not 0"
    FEW = "is above ten and above ten times the median"
    MUCH = "is above 1 GiB or 1 s and above ten times the median"
    DISTINCT = "equals the value of another node"
    CLONED = "equals the value of another node, but not of all nodes"
    TOLD = "never: it is only recorded"


@dataclass(frozen=True)
class Fact:
    meaning: str
    rule: Rule
    unit: str = ""
    hint: str = ""
    """The remedy for a node with an odd value."""
    is_figure: bool = False
    """Whether reports show the value of each node, if all nodes report it."""


_LINK = "look at cable and switch port, driver and firmware of the named adapter"
_IMAGE = "boot the node with the image and the settings of the other nodes"
_CLEAN = "remove the leftovers (`ipcrm`, `rm`, `kill`), and let the epilog remove them after each job"
_MEMORY = "look at the node's memory modules and its error log (`ras-mc-ctl --errors`)"
_MOUNT = "mount the same file system on the node as on the other nodes (`findmnt`, /etc/fstab)"
_LIMITS = "look at limits.conf and slurmd's unit"
_ANSWERS = "check whether the file server answers the node, and read `dmesg` there; mount the file system again"
_SOFTWARE = "install the other nodes' version on the node; `command -v`, `ldd` and `echo $PATH` show which one it uses"
_STARTED = "look at slurmd's unit (`systemctl cat slurmd`), the prologs and the PAM modules of the node"
_ENVIRONMENT = "look at TaskProlog and SPANK plug-ins in slurm.conf, and at /etc/environment, on the node"
_QUEUE = "look at the node's udev rules and tuned profile; /sys/block/DEVICE/queue has the setting"
_NAMES = "look at /etc/hosts, the name service and the resolver of the node"

# Name (* is an interface, an address, a module, a node) -> how the fact is compared. The first matching row counts.
NODE_FACTS = {
    "failed.*": Fact("reason why the node could not read a fact", Rule.NONE, hint="run node_probe.py there by hand"),
    "identity.slurm_name": Fact("the node's name in Slurm", Rule.TOLD),
    "identity.host_name": Fact("the node's host name, without domain", Rule.TOLD, hint=_NAMES),
    "identity.machine_id": Fact("/etc/machine-id", Rule.CLONED, hint="run `systemd-machine-id-setup` on one of them"),
    "identity.boot_id": Fact(
        "the kernel's ID of this boot", Rule.DISTINCT, hint="two of Slurm's nodes are one machine"
    ),
    "identity.booted_s": Fact("time of the boot, since 1970", Rule.TOLD, "s"),
    "kernel.release": Fact("kernel release", Rule.EQUAL, hint=_IMAGE),
    "kernel.command_line": Fact("the kernel's command line", Rule.TOLD),
    "kernel.options": Fact(
        "the kernel's command line without names of disks, images, addresses and hosts", Rule.EQUAL, hint=_IMAGE
    ),
    "kernel.tainted": Fact(
        "taint flags of the kernel, as bits", Rule.EQUAL, hint="`dmesg` on the node says what tainted it"
    ),
    "system.*": Fact("distribution and time zone", Rule.EQUAL, hint=_IMAGE),
    "firmware.*": Fact("BIOS", Rule.EQUAL, hint="install the same firmware on all nodes"),
    "cpu.microcode": Fact("microcode", Rule.EQUAL, hint="install the same firmware on all nodes"),
    "cpu.*": Fact("model, cores online, governor, base and highest frequency, boost, SMT", Rule.EQUAL, hint=_IMAGE),
    "module.*.version": Fact("version of a driver", Rule.EQUAL, hint=_IMAGE),
    "module.*.options": Fact("options of a driver", Rule.EQUAL, hint=_IMAGE),
    "memory.total_kib": Fact("memory", Rule.CLOSE, "KiB", _MEMORY),
    "memory.available_kib": Fact(
        "memory available to a job", Rule.HALF, "KiB", "find the processes or files in /dev/shm that use it", True
    ),
    "memory.of_nobody_kib": Fact(
        "used memory without an owner", Rule.MUCH, "KiB", "a driver of the kernel keeps it: reboot the node", True
    ),
    "memory.swap_kib": Fact("swap space", Rule.EQUAL, "KiB", _IMAGE, True),
    "memory.*": Fact("huge pages, NUMA balancing, overcommit, zone reclaim", Rule.EQUAL, hint=_IMAGE),
    "limit.promised_memory_mib": Fact("memory that Slurm promised the job", Rule.EQUAL, "MiB"),
    "limit.group_memory_mib": Fact(
        "memory limit of the job's control group", Rule.EQUAL, "MiB", "look at cgroup.conf and slurm.conf"
    ),
    "limit.group_processes": Fact(
        "process limit of the job's control group", Rule.EQUAL, hint="look at cgroup.conf and slurmd's unit"
    ),
    "limit.processes_hard": Fact(
        "hard limit of processes, which the kernel derives from the node's memory", Rule.HALF, hint=_LIMITS
    ),
    "limit.pending_signals*": Fact(
        "limit of pending signals, which the kernel derives from the node's memory", Rule.HALF, hint=_LIMITS
    ),
    "limit.shared_memory_kib": Fact("size of /dev/shm", Rule.HALF, "KiB", hint="compare the options of its mount"),
    "limit.*": Fact("a task's resource limits: soft (`ulimit -Sa`) and, with `_hard`, hard (`ulimit -Ha`)",
                    Rule.EQUAL, hint=_LIMITS),
    "task.*": Fact(
        "attributes that a task inherits: nice value, scheduling and I/O class, OOM score, timer slack, transparent "
        "huge pages, umask, signals, capabilities, seccomp, personality", Rule.EQUAL, hint=_STARTED),
    "setting.*": Fact("value of an environment variable that libraries read; values of secrets are hidden", Rule.EQUAL,
                      hint=_ENVIRONMENT),
    "variable.*": Fact("whether another environment variable is set", Rule.EQUAL, hint=_ENVIRONMENT),
    "preloaded": Fact(
        "libraries that /etc/ld.so.preload adds to every program", Rule.EQUAL, hint="look at /etc/ld.so.preload there"
    ),
    "interpreter": Fact("path, version and build of Python 3", Rule.EQUAL, hint=_SOFTWARE),
    "net.*.links_lost": Fact("how often the interface lost its link", Rule.FEW, hint=_LINK),
    "net.*.errors": Fact("frames with errors", Rule.FEW, hint=_LINK),
    "tcp.*": Fact(
        "congestion control, buffers, window scaling, backlog, ports, ARP settings", Rule.EQUAL, hint=_IMAGE
    ),
    "conntrack.free_share": Fact(
        "free share of the table of tracked connections",
        Rule.SCARCE,
        hint="raise net.netfilter.nf_conntrack_max",
    ),
    "net.*": Fact("state, speed, duplex, MTU, driver of an interface", Rule.EQUAL, hint=_LINK),
    "ib.*.links_lost": Fact("how often the InfiniBand port lost its link", Rule.FEW, hint=_LINK),
    "ib.*.errors": Fact("errors of the InfiniBand port", Rule.FEW, hint=_LINK),
    "ib.*": Fact("state, rate and width, firmware of an InfiniBand port", Rule.EQUAL, hint=_LINK),
    "pcie.*": Fact(
        "width, speed and driver of a PCIe link", Rule.EQUAL, hint="reseat the adapter; look at its slot and riser"
    ),
    "error.memory_corrected": Fact("corrected memory errors (EDAC)", Rule.FEW, hint=_MEMORY),
    "error.memory_uncorrected": Fact("uncorrected memory errors (EDAC)", Rule.NONE, hint=_MEMORY),
    "error.machine_checks": Fact("machine checks", Rule.FEW, hint=_MEMORY),
    "power.*_throttled": Fact(
        "how often all cores or packages together reduced their frequency", Rule.TOLD, is_figure=True
    ),
    "power.package_w": Fact("power of all processors (RAPL) over 0.1 s", Rule.TOLD, "W", is_figure=True),
    "left.temporary_files": Fact("files in /tmp that are older than a day", Rule.TOLD, hint=_CLEAN),
    "left.temporary_files_mib": Fact("size of the files in /tmp that are older than a day", Rule.MUCH, "MiB", _CLEAN,
                                     True),
    "left.shared_memory_files": Fact("files in /dev/shm that are older than the job", Rule.TOLD, hint=_CLEAN),
    "left.shared_memory_files_mib": Fact("size of the files in /dev/shm that are older than the job", Rule.NONE, "MiB",
                                         _CLEAN),
    "left.shared_memory_free_share": Fact("free share of /dev/shm", Rule.HALF, hint=_CLEAN),
    "left.temporary_free_share": Fact("free share of the file system of /tmp", Rule.SCARCE, hint=_CLEAN),
    "left.zombies": Fact(
        "ended processes whose parent has not waited for them", Rule.FEW, hint="end their parent, or reboot the node"
    ),
    "left.large_process.*_mib": Fact(
        "memory of processes of this name outside the job, if at least 1 GiB", Rule.ALIEN, "MiB", _CLEAN
    ),
    "left.busy_process.*_cores": Fact(
        "cores kept busy by processes of this name outside the job since their start, if at least a quarter",
        Rule.ALIEN,
        "",
        "look at the process (`top`) and end it if it is not needed",
    ),
    "left.outside_jobs.*": Fact(
        "processes of another user that belong to no job and are older than this job", Rule.ALIEN, hint=_CLEAN
    ),
    "left.*": Fact("leftovers of other jobs: processes, segments, semaphores", Rule.NONE, hint=_CLEAN),
    "slurm.power_w": Fact("power as measured by Slurm's energy plug-in", Rule.TOLD, "W", is_figure=True),
    "slurm.*": Fact("the node's cores and memory as recorded in Slurm", Rule.TOLD),
    "file.*": Fact("SHA-256 of a file of `uniform_files`", Rule.THERE, hint=_IMAGE),
    "network_mount.*": Fact(
        "another network file system: type, source with # for every number, options", Rule.EQUAL, hint=_MOUNT
    ),
    "network_mounts.more": Fact(
        "number of network file systems in addition to the 32 listed ones", Rule.EQUAL, hint=_MOUNT
    ),
    "disk.*": Fact(
        "queue of the device below a mount: read-ahead, scheduler, depth, caches …", Rule.EQUAL, hint=_QUEUE
    ),
    "mount.home.answers": Fact("whether the user's home reports its size within 10 s", Rule.TRUE, hint=_ANSWERS),
    "mount.home.*": Fact("file system of the user's home: type, source, point, options", Rule.EQUAL, hint=_MOUNT),
    "mount.*.type": Fact("type of the file system of a storage target", Rule.THERE, hint=_MOUNT),
    "mount.*.source": Fact("its device or server; equal on all nodes for a parallel target", Rule.TOLD, hint=_MOUNT),
    "mount.*.point": Fact(
        "its mount point: the target's folder or a folder above; for a parallel target not `/`", Rule.EQUAL, hint=_MOUNT
    ),
    "mount.*.source_kind": Fact("its device or server with # for every number", Rule.EQUAL, hint=_MOUNT),
    "mount.*.answers": Fact("whether it reports its size within 10 s", Rule.TRUE, hint=_ANSWERS),
    "mount.*.size_bytes": Fact("size of the file system", Rule.CLOSE, "bytes", _MOUNT),
    "mount.*.free_bytes": Fact("free space of the file system", Rule.TOLD, "bytes", _MOUNT, True),
    "mount.*.free_inode_share": Fact("free share of its inodes", Rule.SCARCE, hint=_CLEAN),
    "mount.*.permissions": Fact("permissions of the folder", Rule.EQUAL, hint=_MOUNT),
    "mount.*.writable": Fact("whether it is mounted writable", Rule.TRUE, hint=_MOUNT),
    "mount.*": Fact("the mounted folder, its options", Rule.EQUAL, hint=_MOUNT),
    "account.*": Fact(
        "a user on the node: user ID, home, groups", Rule.EQUAL, hint="look at /etc/passwd, LDAP or NIS there"
    ),
    "program.*": Fact("path of a program found on PATH", Rule.EQUAL, hint=_SOFTWARE),
    "unresolved_libraries": Fact("libraries that a program does not find", Rule.NONE, hint=_SOFTWARE),
    "binary.*": Fact("SHA-256 of a program, or of a file that it loads or opens", Rule.EQUAL, hint=_SOFTWARE),
    "shared_file.*": Fact("size and time of such a file on a network file system", Rule.EQUAL, hint=_SOFTWARE),
    "shared_content.*": Fact("SHA-256 of such a file; only two nodes read it", Rule.ALIKE, hint=_SOFTWARE),
    "environment_module.*": Fact(
        "reason why a module does not load", Rule.NONE, hint="`module load` it on the node; look at its MODULEPATH"
    ),
    "needed_to_build.*": Fact(
        "header or library that builds need", Rule.THERE, hint="install the development package on the node"
    ),
    "user.*": Fact("the job's user: name, IDs, groups, home, shell", Rule.EQUAL, hint=_NAMES),
    "lookup.median_ms": Fact("time to resolve the name of a node", Rule.MUCH, "ms", _NAMES),
    "lookup.names": Fact("number of node names that it resolves", Rule.EQUAL, hint=_NAMES),
    "way.*": Fact(
        "reason why the node cannot send to another node of the job", Rule.NONE,
        hint="look at the node's routes (`ip route`)",
    ),
    "taken.*": Fact(
        "address of another node of the job that this node also has", Rule.NONE, hint="look at `ip addr` there"
    ),
    "host.*": Fact("address of another node of the job, of at most 64 nodes", Rule.EQUAL, hint=_NAMES),
}  # fmt: skip

# A kind of state that not every machine has -> the facts that report it.
KINDS_OF_STATE = {
    "InfiniBand": ("ib.*",),
    "PCIe links": ("pcie.*",),
    "memory errors (EDAC)": ("error.memory_corrected", "error.memory_uncorrected"),
    "machine checks": ("error.machine_checks",),
    "throttling": ("power.*_throttled",),
    "power (RAPL)": ("power.package_w",),
    "power (Slurm)": ("slurm.power_w",),
}


class Bound(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A site's limits for a number. For any other type a site states the value itself."""

    at_least: float | None = None
    at_most: float | None = None

    def holds(self, value: Value) -> bool:
        if not isinstance(value, int | float):
            return False
        too_low = self.at_least is not None and value < self.at_least
        return not too_low and not (self.at_most is not None and value > self.at_most)

    def __str__(self) -> str:
        stated = (("at least", self.at_least), ("at most", self.at_most))
        return " and ".join(f"{word} {number:g}" for word, number in stated if number is not None)


def kinds_not_told(told: Collection[str]) -> list[str]:
    """Return the kinds of state that no node reports; ``told`` are the names of the reported facts."""
    return [
        kind
        for kind, patterns in KINDS_OF_STATE.items()
        if not any(fnmatch.filter(told, pattern) for pattern in patterns)
    ]


@functools.cache
def fact_of(name: str) -> Fact | None:
    """Return the row of the table for the fact of this name, or ``None``."""
    return next((fact for pattern, fact in NODE_FACTS.items() if fnmatch.fnmatchcase(name, pattern)), None)


def known_fact(pattern: str) -> bool:
    """Return whether a site's name or pattern of facts can match a fact: it matches a row, or a row matches it."""
    return any(fnmatch.fnmatchcase(row, pattern) or fnmatch.fnmatchcase(pattern, row) for row in NODE_FACTS)
