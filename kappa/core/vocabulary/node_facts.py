"""The one table of what a node tells of itself, and of how nodes are compared by it.

``reframe_checks/node/src/node_facts`` asks the nodes. A site may say of any fact what it expects (``node_facts`` of a
partition); then that holds, and not what most nodes have.
"""

import enum
import fnmatch
import functools
from collections.abc import Collection
from dataclasses import dataclass

import msgspec

Value = int | float | str | bool | list[str] | None


class Rule(enum.Enum):
    """What makes a node odd by a fact."""

    EQUAL = "another value than most nodes"
    THERE = "another value than most nodes, or none at all"
    ALIKE = "another value than most of those that tell one"
    TRUE = "anything but true"
    CLOSE = "more than 2 % from the median"
    ALIEN = "any where at most half of the nodes have one"
    HALF = "less than half of the median"
    SCARCE = "less than 5 %, and than half of the median"
    NONE = "anything at all"
    FEW = "more than ten times the median, and than ten"
    MUCH = "more than ten times the median, and than 1 GiB or 1 s"
    DISTINCT = "the value of another node"
    CLONED = "the value of another node, unless all have it"
    TOLD = "nothing: it is recorded"


@dataclass(frozen=True)
class Fact:
    meaning: str
    rule: Rule
    unit: str = ""
    hint: str = ""
    """What to do about a node that is odd by it."""
    is_figure: bool = False
    """Reports show it for each node, where all of them tell it."""


_LINK = "look at cable and switch port, driver and firmware of the named adapter"
_IMAGE = "boot the node with the image and the settings of the others"
_CLEAN = "remove what is left (`ipcrm`, `rm`, `kill`), and have the epilog do so"
_MEMORY = "look at the node's memory modules and its error log (`ras-mc-ctl --errors`)"
_MOUNT = "mount on the node what the others have there (`findmnt`, /etc/fstab)"
_LIMITS = "look at limits.conf and slurmd's unit"
_ANSWERS = "see whether the file server answers the node, and `dmesg` there; mount it anew"
_SOFTWARE = "install on the node what the others have; `command -v`, `ldd` and `echo $PATH` there show which it takes"
_STARTED = "look at slurmd's unit (`systemctl cat slurmd`), the prologs and the PAM modules of the node"
_ENVIRONMENT = "look at TaskProlog and SPANK plug-ins in slurm.conf, and at /etc/environment, on the node"
_QUEUE = "look at the node's udev rules and tuned profile; /sys/block/DEVICE/queue has the setting"
_NAMES = "look at /etc/hosts, the name service and the resolver of the node"

# Name, in which * is an interface, an address, a module, a node -> how it is compared. The first that fits counts.
NODE_FACTS = {
    "failed.*": Fact("why the node could not tell", Rule.NONE, hint="run node_probe.py there by hand"),
    "identity.slurm_name": Fact("the node's name by Slurm", Rule.TOLD),
    "identity.host_name": Fact("the node's own name, without domain", Rule.TOLD, hint=_NAMES),
    "identity.machine_id": Fact("/etc/machine-id", Rule.CLONED, hint="`systemd-machine-id-setup` on one of them"),
    "identity.boot_id": Fact(
        "the kernel's name of this boot", Rule.DISTINCT, hint="two of Slurm's nodes are one machine"
    ),
    "identity.booted_s": Fact("when it was booted, since 1970", Rule.TOLD, "s"),
    "kernel.release": Fact("kernel", Rule.EQUAL, hint=_IMAGE),
    "kernel.command_line": Fact("the kernel's command line", Rule.TOLD),
    "kernel.options": Fact(
        "the same without what names a disk, an image, an address or a host", Rule.EQUAL, hint=_IMAGE
    ),
    "kernel.tainted": Fact(
        "what taints the kernel, as bits", Rule.EQUAL, hint="`dmesg` on the node says what tainted it"
    ),
    "system.*": Fact("distribution and time zone", Rule.EQUAL, hint=_IMAGE),
    "firmware.*": Fact("BIOS", Rule.EQUAL, hint="give all nodes the same firmware"),
    "cpu.microcode": Fact("microcode", Rule.EQUAL, hint="give all nodes the same firmware"),
    "cpu.*": Fact("model, cores online, governor, base and highest frequency, boost, SMT", Rule.EQUAL, hint=_IMAGE),
    "module.*.version": Fact("version of a driver", Rule.EQUAL, hint=_IMAGE),
    "module.*.options": Fact("options of a driver", Rule.EQUAL, hint=_IMAGE),
    "memory.total_kib": Fact("memory", Rule.CLOSE, "KiB", _MEMORY),
    "memory.available_kib": Fact(
        "memory that a job could have", Rule.HALF, "KiB", "see which processes or files in /dev/shm have it", True
    ),
    "memory.of_nobody_kib": Fact(
        "memory in use that nobody has", Rule.MUCH, "KiB", "a driver of the kernel keeps it: boot the node", True
    ),
    "memory.swap_kib": Fact("swap space", Rule.EQUAL, "KiB", _IMAGE, True),
    "memory.*": Fact("huge pages, NUMA balancing, overcommit, zone reclaim", Rule.EQUAL, hint=_IMAGE),
    "limit.promised_memory_mib": Fact("memory that Slurm promised the job", Rule.EQUAL, "MiB"),
    "limit.group_memory_mib": Fact(
        "limit of the job's control group", Rule.EQUAL, "MiB", "look at cgroup.conf and slurm.conf"
    ),
    "limit.group_processes": Fact(
        "processes that the job's control group may have", Rule.EQUAL, hint="look at cgroup.conf and slurmd's unit"
    ),
    "limit.processes_hard": Fact("the kernel sets it by the node's memory", Rule.HALF, hint=_LIMITS),
    "limit.pending_signals*": Fact("the kernel sets it by the node's memory", Rule.HALF, hint=_LIMITS),
    "limit.*": Fact("a task's resource limits (`ulimit -Sa`); `_hard`: up to which it may raise them (`ulimit -Ha`)",
                    Rule.EQUAL, hint=_LIMITS),
    "task.*": Fact(
        "what a task inherits: nice value, scheduling and I/O class, OOM score, timer slack, transparent huge pages, "
        "umask, signals, capabilities, seccomp, personality", Rule.EQUAL, hint=_STARTED),
    "setting.*": Fact("value of an environment variable that libraries read; a secret's is hidden", Rule.EQUAL,
                      hint=_ENVIRONMENT),
    "variable.*": Fact("whether another environment variable is set", Rule.EQUAL, hint=_ENVIRONMENT),
    "interpreter": Fact("path, version and build of Python 3", Rule.EQUAL, hint=_SOFTWARE),
    "net.*.links_lost": Fact("how often the interface lost its link", Rule.FEW, hint=_LINK),
    "net.*.errors": Fact("frames with errors", Rule.FEW, hint=_LINK),
    "tcp.*": Fact(
        "congestion control, buffers, window scaling, backlog, ports, and whose ARP it answers", Rule.EQUAL, hint=_IMAGE
    ),
    "conntrack.free_share": Fact(
        "share of the table of tracked connections that is free",
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
    "error.memory_corrected": Fact("memory errors that were corrected (EDAC)", Rule.FEW, hint=_MEMORY),
    "error.memory_uncorrected": Fact("memory errors that were not", Rule.NONE, hint=_MEMORY),
    "error.machine_checks": Fact("machine checks", Rule.FEW, hint=_MEMORY),
    "power.*_throttled": Fact(
        "how often cores or packages slowed themselves down, over all of them", Rule.TOLD, is_figure=True
    ),
    "power.energy_j": Fact(
        "energy of the processors (RAPL), from when the counter began", Rule.TOLD, "J", is_figure=True
    ),
    "left.temporary_files": Fact("files in /tmp that are older than a day", Rule.TOLD, hint=_CLEAN),
    "left.temporary_files_mib": Fact("their size", Rule.MUCH, "MiB", _CLEAN, True),
    "left.shared_memory_files": Fact("files in /dev/shm that are older than the job", Rule.TOLD, hint=_CLEAN),
    "left.shared_memory_files_mib": Fact("their size", Rule.NONE, "MiB", _CLEAN),
    "left.shared_memory_free_share": Fact("share of /dev/shm that is free", Rule.HALF, hint=_CLEAN),
    "left.temporary_free_share": Fact("share of the file system of /tmp that is free", Rule.SCARCE, hint=_CLEAN),
    "left.zombies": Fact(
        "processes whose parent does not look after them", Rule.FEW, hint="end their parent, or boot the node"
    ),
    "left.large_process.*_mib": Fact(
        "memory of processes of this name outside the job, from 1 GiB on", Rule.ALIEN, "MiB", _CLEAN
    ),
    "left.busy_process.*_cores": Fact(
        "cores that processes of this name outside the job have kept busy since they began, from a quarter on",
        Rule.ALIEN,
        "",
        "end it, or see what it does (`top`)",
    ),
    "left.outside_jobs.*": Fact(
        "processes of another user that are in no job and older than this one", Rule.ALIEN, hint=_CLEAN
    ),
    "left.*": Fact("what other jobs left: processes, segments, semaphores", Rule.NONE, hint=_CLEAN),
    "slurm.power_w": Fact("power that Slurm accounts for (its plug-in for energy)", Rule.TOLD, "W", is_figure=True),
    "slurm.*": Fact("cores and memory that Slurm believes it has", Rule.TOLD),
    "file.*": Fact("SHA-256 of a file of `uniform_files`", Rule.THERE, hint=_IMAGE),
    "network_mount.*": Fact(
        "another file system of a server: type, source with # for every number, options", Rule.EQUAL, hint=_MOUNT
    ),
    "network_mounts.more": Fact("how many there are beyond the 32 that are told", Rule.EQUAL, hint=_MOUNT),
    "disk.*": Fact(
        "read-ahead, scheduler, depth, caches … of the queue of the device below a mount", Rule.EQUAL, hint=_QUEUE
    ),
    "mount.home.answers": Fact("whether the user's home says within 10 s how large it is", Rule.TRUE, hint=_ANSWERS),
    "mount.home.*": Fact("file system of the user's home: type, source, point, options", Rule.EQUAL, hint=_MOUNT),
    "mount.*.type": Fact("file system that holds a storage target", Rule.THERE, hint=_MOUNT),
    "mount.*.source": Fact("its device or server; of a parallel target equal", Rule.TOLD, hint=_MOUNT),
    "mount.*.point": Fact(
        "where it is mounted: there, or at a folder above; of a parallel target not `/`", Rule.EQUAL, hint=_MOUNT
    ),
    "mount.*.source_kind": Fact("the same with # for every number", Rule.EQUAL, hint=_MOUNT),
    "mount.*.answers": Fact("whether it says within 10 s how large it is", Rule.TRUE, hint=_ANSWERS),
    "mount.*.size_bytes": Fact("size of the file system", Rule.CLOSE, "bytes", _MOUNT),
    "mount.*.free_bytes": Fact("what of it is free", Rule.TOLD, "bytes", _MOUNT, True),
    "mount.*.free_inode_share": Fact("share of its inodes that is free", Rule.SCARCE, hint=_CLEAN),
    "mount.*.permissions": Fact("who may do what in the folder", Rule.EQUAL, hint=_MOUNT),
    "mount.*.writable": Fact("not mounted read-only", Rule.TRUE, hint=_MOUNT),
    "mount.*": Fact("folder that is mounted there, options, whether it can be written to", Rule.EQUAL, hint=_MOUNT),
    "account.*": Fact(
        "what the node knows of a user: number, home, groups", Rule.EQUAL, hint="look at /etc/passwd, LDAP or NIS there"
    ),
    "program.*": Fact("where a program is found on PATH", Rule.EQUAL, hint=_SOFTWARE),
    "unresolved_libraries": Fact("libraries that a program does not find", Rule.NONE, hint=_SOFTWARE),
    "binary.*": Fact("SHA-256 of a program, or of what it loads or opens", Rule.EQUAL, hint=_SOFTWARE),
    "shared_file.*": Fact("size and time of one on a network file system", Rule.EQUAL, hint=_SOFTWARE),
    "shared_content.*": Fact("its SHA-256, which two nodes read", Rule.ALIKE, hint=_SOFTWARE),
    "environment_module.*": Fact(
        "why a module does not load", Rule.NONE, hint="`module load` it on the node; look at its MODULEPATH"
    ),
    "needed_to_build.*": Fact(
        "header or library that builds need", Rule.THERE, hint="install the development package on the node"
    ),
    "user.*": Fact("the job's user: name, numbers, groups, home, shell", Rule.EQUAL, hint=_NAMES),
    "lookup.median_ms": Fact("time to resolve the name of a node", Rule.MUCH, "ms", _NAMES),
    "lookup.names": Fact("how many names of nodes it looks up", Rule.EQUAL, hint=_NAMES),
    "way.*": Fact(
        "why nothing is sent to another node of the job", Rule.NONE, hint="look at the node's routes (`ip route`)"
    ),
    "taken.*": Fact(
        "address of another node of the job that this node has itself", Rule.NONE, hint="look at `ip addr` there"
    ),
    "host.*": Fact("address of another node of the job, of more than 64 that of 64", Rule.EQUAL, hint=_NAMES),
}

# What not every machine has -> the facts by which a node tells of it.
KINDS_OF_STATE = {
    "InfiniBand": ("ib.*",),
    "PCIe links": ("pcie.*",),
    "memory errors (EDAC)": ("error.memory_corrected", "error.memory_uncorrected"),
    "machine checks": ("error.machine_checks",),
    "throttling": ("power.*_throttled",),
    "energy (RAPL)": ("power.energy_j",),
    "power (Slurm)": ("slurm.power_w",),
}


class Bound(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What a site says of a number; of anything else it says the value itself."""

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
    """The kinds of state of which there is no fact among ``told``, the names of those that some node has."""
    return [
        kind
        for kind, patterns in KINDS_OF_STATE.items()
        if not any(fnmatch.filter(told, pattern) for pattern in patterns)
    ]


@functools.cache
def fact_of(name: str) -> Fact | None:
    """The row of the table for the fact of this name."""
    return next((fact for pattern, fact in NODE_FACTS.items() if fnmatch.fnmatchcase(name, pattern)), None)


def known_fact(pattern: str) -> bool:
    """Whether a site's name or pattern of facts can fit any: it fits a row of the table, or a row fits it."""
    return any(fnmatch.fnmatchcase(row, pattern) or fnmatch.fnmatchcase(pattern, row) for row in NODE_FACTS)
