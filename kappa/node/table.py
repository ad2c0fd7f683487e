"""The table of a node's facts: how each is read, who may differ, and what it means if it is wrong.

A new fact is a row. On a node, only the readers of the wanted rows are loaded.
"""

import enum
import fnmatch
import functools
import importlib
import os
from typing import NamedTuple, Optional

from kappa.node.children import all_within
from kappa.node.files import distinct, first, number, read


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


# Rules of facts that are constants of a kind of node.
_OF_KIND = (Rule.EQUAL, Rule.THERE, Rule.ALIKE, Rule.TRUE, Rule.CLOSE)


class Fact(NamedTuple):
    """A row: a fact, or a family of facts with ``*`` for an interface, an address, a module or a node in its name.

    :param read: a function that returns the value, or ``MODULE:FUNCTION`` of ``kappa.node.facts``, which may also
        return or yield the names and values of a family; ``None`` if the node does not tell it. The parameters are
        questions (``kappa.node.command``).
    :param hint: the remedy for a node with an odd value.
    :param is_figure: whether reports show the value of each node, if all nodes report it.
    :param of_site: whether the login node and all kinds of nodes agree, too.
    """

    name: str
    read: object
    rule: Rule
    meaning: str
    unit: str = ""
    hint: str = ""
    is_figure: bool = False
    of_site: bool = False

    @property
    def same_on(self):
        """Return which nodes must have the same value."""
        if self.of_site:
            return "the site"
        return "nodes of one kind" if self.rule in _OF_KIND else ""

    def matches(self, pattern):
        """Tell whether the pattern may name a fact of this row: it matches the row's name, or the row matches it."""
        return fnmatch.fnmatchcase(self.name, pattern) or fnmatch.fnmatchcase(pattern, self.name)


def text(*path):
    return lambda: read(*path)


def whole_number(*path):
    return lambda: number(*path)


def in_text(pattern, *path):
    return lambda: first(pattern, read(*path))


def of_all(pattern):
    return lambda: distinct(pattern)


_CPUS, _CPU_INFO, _FIRMWARE = "/sys/devices/system/cpu", "/proc/cpuinfo", "/sys/class/dmi/id"
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

_EQUAL, _TOLD, _FEW, _NONE, _HALF = Rule.EQUAL, Rule.TOLD, Rule.FEW, Rule.NONE, Rule.HALF
_BOARD = "install the same firmware on all nodes"
_GROUP = "look at cgroup.conf and slurm.conf"
_MEMORY_USERS = "find the processes or files in /dev/shm that use it"

#: The first row whose name matches counts.
FACTS = (
    Fact("failed.*", None, _NONE, "reason why the node could not read a fact", hint="run `kappa-node facts` there"),
    Fact("identity.slurm_name", "identity:facts", _TOLD, "the node's name in Slurm"),
    Fact("identity.host_name", "identity:facts", _TOLD, "the node's host name, without domain", hint=_NAMES),
    Fact("identity.machine_id", "identity:facts", Rule.CLONED, "/etc/machine-id",
         hint="run `systemd-machine-id-setup` on one of them"),
    Fact("identity.boot_id", "identity:facts", Rule.DISTINCT, "the kernel's ID of this boot",
         hint="two of Slurm's nodes are one machine"),
    Fact("identity.booted_s", "identity:facts", _TOLD, "time of the boot, since 1970", "s"),
    Fact("kernel.release", text("/proc/sys/kernel/osrelease"), _EQUAL, "kernel release", hint=_IMAGE),
    Fact("kernel.command_line", text("/proc/cmdline"), _TOLD, "the kernel's command line"),
    Fact("kernel.options", "kernel:options", _EQUAL,
         "the kernel's command line without names of disks, images, addresses and hosts", hint=_IMAGE),
    Fact("kernel.tainted", whole_number("/proc/sys/kernel/tainted"), _EQUAL, "taint flags of the kernel, as bits",
         hint="`dmesg` on the node says what tainted it"),
    Fact("system.release", in_text(r'^PRETTY_NAME="?([^"\n]+)', "/etc/os-release"), _EQUAL, "distribution",
         hint=_IMAGE),
    Fact("system.time_zone", "kernel:time_zone", _EQUAL, "time zone", hint=_IMAGE, of_site=True),
    Fact("firmware.version", text(_FIRMWARE, "bios_version"), _EQUAL, "version of the BIOS", hint=_BOARD),
    Fact("firmware.date", text(_FIRMWARE, "bios_date"), _EQUAL, "date of the BIOS", hint=_BOARD),
    Fact("cpu.microcode", in_text(r"^microcode\s*:\s*(\S+)", _CPU_INFO), _EQUAL, "microcode", hint=_BOARD),
    Fact("cpu.model", in_text(r"^(?:model name|Model|cpu)\s*:\s*(.+)$", _CPU_INFO), _EQUAL, "model", hint=_IMAGE),
    Fact("cpu.online", text(_CPUS, "online"), _EQUAL, "list of the cores online", hint=_IMAGE),
    Fact("cpu.count", lambda: os.sysconf("SC_NPROCESSORS_ONLN"), _EQUAL, "number of cores online", hint=_IMAGE),
    Fact("cpu.usable", lambda: len(os.sched_getaffinity(0)), _EQUAL, "number of cores of a task", hint=_IMAGE),
    Fact("cpu.sockets", of_all(_CPUS + "/cpu[0-9]*/topology/physical_package_id"), _EQUAL, "sockets", hint=_IMAGE),
    Fact("cpu.numa_domains", text("/sys/devices/system/node/online"), _EQUAL, "NUMA domains", hint=_IMAGE),
    Fact("cpu.governor", of_all(_CPUS + "/cpu[0-9]*/cpufreq/scaling_governor"), _EQUAL, "governor", hint=_IMAGE),
    Fact("cpu.highest_khz", of_all(_CPUS + "/cpu[0-9]*/cpufreq/scaling_max_freq"), _EQUAL, "highest frequency", "kHz",
         _IMAGE),
    Fact("cpu.base_khz", whole_number(_CPUS, "cpu0/cpufreq/base_frequency"), _EQUAL, "base frequency", "kHz", _IMAGE),
    Fact("cpu.boost", "kernel:boost", _EQUAL, "whether cores may exceed their base frequency", hint=_IMAGE),
    Fact("cpu.smt", text(_CPUS, "smt/control"), _EQUAL, "simultaneous multithreading", hint=_IMAGE),
    Fact("module.*.version", "kernel:modules", _EQUAL, "version of a driver", hint=_IMAGE),
    Fact("module.*.options", "kernel:modules", _EQUAL, "options of a driver", hint=_IMAGE),
    Fact("memory.total_kib", "memory:facts", Rule.CLOSE, "memory", "KiB", _MEMORY),
    Fact("memory.available_kib", "memory:facts", _HALF, "memory available to a job", "KiB", _MEMORY_USERS, True),
    Fact("memory.of_nobody_kib", "memory:facts", Rule.MUCH, "used memory without an owner", "KiB",
         "a driver of the kernel keeps it: reboot the node", True),
    Fact("memory.swap_kib", "memory:facts", _EQUAL, "swap space", "KiB", _IMAGE, True),
    Fact("memory.*", "memory:facts", _EQUAL, "huge pages, NUMA balancing, overcommit, zone reclaim", hint=_IMAGE),
    Fact("limit.promised_memory_mib", "limits:facts", _EQUAL, "memory that Slurm promised the job", "MiB"),
    Fact("limit.group_memory_mib", "limits:facts", _EQUAL, "memory limit of the job's control group", "MiB", _GROUP),
    Fact("limit.group_processes", "limits:facts", _EQUAL, "process limit of the job's control group",
         hint="look at cgroup.conf and slurmd's unit"),
    Fact("limit.processes_hard", "limits:facts", _HALF,
         "hard limit of processes, which the kernel derives from the node's memory", hint=_LIMITS),
    Fact("limit.pending_signals*", "limits:facts", _HALF,
         "limit of pending signals, which the kernel derives from the node's memory", hint=_LIMITS),
    Fact("limit.shared_memory_kib", "limits:facts", _HALF, "size of /dev/shm", "KiB",
         "compare the options of its mount"),
    Fact("limit.*", "limits:facts", _EQUAL,
         "a task's resource limits: soft (`ulimit -Sa`) and, with `_hard`, hard (`ulimit -Ha`)", hint=_LIMITS),
    Fact("task.*", "task:facts", _EQUAL,
         "attributes that a task inherits: nice value, scheduling and I/O class, OOM score, timer slack, transparent "
         "huge pages, umask, signals, capabilities, seccomp, personality", hint=_STARTED),
    Fact("setting.*", "environment:facts", _EQUAL,
         "value of an environment variable that libraries read; values of secrets are hidden", hint=_ENVIRONMENT),
    Fact("variable.*", "environment:facts", _EQUAL, "whether another environment variable is set", hint=_ENVIRONMENT),
    Fact("preloaded", "environment:facts", _EQUAL, "libraries that /etc/ld.so.preload adds to every program",
         hint="look at /etc/ld.so.preload there"),
    Fact("interpreter", "environment:facts", _EQUAL, "path, version and build of Python 3", hint=_SOFTWARE),
    Fact("net.*.links_lost", "links:facts", _FEW, "how often the interface lost its link", hint=_LINK),
    Fact("net.*.errors", "links:facts", _FEW, "frames with errors", hint=_LINK),
    Fact("net.*", "links:facts", _EQUAL, "state, speed, duplex, MTU, driver of an interface", hint=_LINK),
    Fact("tcp.*", "tcp:facts", _EQUAL,
         "congestion control, buffers, window scaling, backlog, ports, ARP settings", hint=_IMAGE),
    Fact("conntrack.free_share", "tcp:facts", Rule.SCARCE, "free share of the table of tracked connections",
         hint="raise net.netfilter.nf_conntrack_max"),
    Fact("ib.*.links_lost", "links:facts", _FEW, "how often the InfiniBand port lost its link", hint=_LINK),
    Fact("ib.*.errors", "links:facts", _FEW, "errors of the InfiniBand port", hint=_LINK),
    Fact("ib.*", "links:facts", _EQUAL, "state, rate and width, firmware of an InfiniBand port", hint=_LINK),
    Fact("pcie.*", "devices:facts", _EQUAL, "width, speed and driver of a PCIe link",
         hint="reseat the adapter; look at its slot and riser"),
    Fact("error.memory_corrected", "errors:facts", _FEW, "corrected memory errors (EDAC)", hint=_MEMORY),
    Fact("error.memory_uncorrected", "errors:facts", _NONE, "uncorrected memory errors (EDAC)", hint=_MEMORY),
    Fact("error.machine_checks", "errors:facts", _FEW, "machine checks", hint=_MEMORY),
    Fact("power.*_throttled", "power:facts", _TOLD,
         "how often all cores or packages together reduced their frequency", is_figure=True),
    Fact("power.package_w", "power:facts", _TOLD, "power of all processors (RAPL) over 0.1 s", "W", is_figure=True),
    Fact("left.temporary_files", "leftovers:facts", _TOLD, "files in /tmp that are older than a day", hint=_CLEAN),
    Fact("left.temporary_files_mib", "leftovers:facts", Rule.MUCH,
         "size of the files in /tmp that are older than a day", "MiB", _CLEAN, True),
    Fact("left.shared_memory_files", "leftovers:facts", _TOLD, "files in /dev/shm that are older than the job",
         hint=_CLEAN),
    Fact("left.shared_memory_files_mib", "leftovers:facts", _NONE,
         "size of the files in /dev/shm that are older than the job", "MiB", _CLEAN),
    Fact("left.shared_memory_free_share", "leftovers:facts", _HALF, "free share of /dev/shm", hint=_CLEAN),
    Fact("left.temporary_free_share", "leftovers:facts", Rule.SCARCE, "free share of the file system of /tmp",
         hint=_CLEAN),
    Fact("left.zombies", "leftovers:facts", _FEW, "ended processes whose parent has not waited for them",
         hint="end their parent, or reboot the node"),
    Fact("left.large_process.*_mib", "leftovers:facts", Rule.ALIEN,
         "memory of processes of this name outside the job, if at least 1 GiB", "MiB", _CLEAN),
    Fact("left.busy_process.*_cores", "leftovers:facts", Rule.ALIEN,
         "cores kept busy by processes of this name outside the job since their start, if at least a quarter",
         hint="look at the process (`top`) and end it if it is not needed"),
    Fact("left.outside_jobs.*", "leftovers:facts", Rule.ALIEN,
         "processes of another user that belong to no job and are older than this job", hint=_CLEAN),
    Fact("left.*", "leftovers:facts", _NONE, "leftovers of other jobs: processes, segments, semaphores", hint=_CLEAN),
    Fact("slurm.power_w", None, _TOLD, "power as measured by Slurm's energy plug-in", "W", is_figure=True),
    Fact("slurm.*", None, _TOLD, "the node's cores and memory as recorded in Slurm"),
    Fact("file.*", "mounts:facts", Rule.THERE, "SHA-256 of a file of `uniform_files`", hint=_IMAGE, of_site=True),
    Fact("network_mount.*", "mounts:facts", _EQUAL,
         "another network file system: type, source with # for every number, options", hint=_MOUNT),
    Fact("network_mounts.more", "mounts:facts", _EQUAL,
         "number of network file systems in addition to the 32 listed ones", hint=_MOUNT),
    Fact("disk.*", "mounts:facts", _EQUAL,
         "queue of the device below a mount: read-ahead, scheduler, depth, caches …", hint=_QUEUE),
    Fact("mount.home.answers", "mounts:facts", Rule.TRUE, "whether the user's home reports its size within 10 s",
         hint=_ANSWERS),
    Fact("mount.home.*", "mounts:facts", _EQUAL, "file system of the user's home: type, source, point, options",
         hint=_MOUNT),
    Fact("mount.*.type", "mounts:facts", Rule.THERE, "type of the file system of a storage target", hint=_MOUNT),
    Fact("mount.*.source", "mounts:facts", _TOLD,
         "its device or server; equal on all nodes for a parallel target", hint=_MOUNT),
    Fact("mount.*.point", "mounts:facts", _EQUAL,
         "its mount point: the target's folder or a folder above; for a parallel target not `/`", hint=_MOUNT),
    Fact("mount.*.source_kind", "mounts:facts", _EQUAL, "its device or server with # for every number", hint=_MOUNT),
    Fact("mount.*.answers", "mounts:facts", Rule.TRUE, "whether it reports its size within 10 s", hint=_ANSWERS),
    Fact("mount.*.size_bytes", "mounts:facts", Rule.CLOSE, "size of the file system", "bytes", _MOUNT),
    Fact("mount.*.free_bytes", "mounts:facts", _TOLD, "free space of the file system", "bytes", _MOUNT, True),
    Fact("mount.*.free_inode_share", "mounts:facts", Rule.SCARCE, "free share of its inodes", hint=_CLEAN),
    Fact("mount.*.permissions", "mounts:facts", _EQUAL, "permissions of the folder", hint=_MOUNT),
    Fact("mount.*.writable", "mounts:facts", Rule.TRUE, "whether it is mounted writable", hint=_MOUNT),
    Fact("mount.*", "mounts:facts", _EQUAL, "the mounted folder, its options", hint=_MOUNT),
    Fact("account.*", "names:accounts", _EQUAL, "a user on the node: user ID, home, groups",
         hint="look at /etc/passwd, LDAP or NIS there", of_site=True),
    Fact("program.*", "software:places", _EQUAL, "path of a program found on PATH", hint=_SOFTWARE),
    Fact("unresolved_libraries", "software:objects", _NONE, "libraries that a program does not find", hint=_SOFTWARE),
    Fact("binary.*", "software:objects", _EQUAL, "SHA-256 of a program, or of a file that it loads or opens",
         hint=_SOFTWARE),
    Fact("shared_file.*", "software:objects", _EQUAL, "size and time of such a file on a network file system",
         hint=_SOFTWARE),
    Fact("shared_content.*", "software:objects", Rule.ALIKE, "SHA-256 of such a file; only two nodes read it",
         hint=_SOFTWARE),
    Fact("environment_module.*", "modules:facts", _NONE, "reason why a module does not load",
         hint="`module load` it on the node; look at its MODULEPATH"),
    Fact("needed_to_build.*", "builds:facts", Rule.THERE, "header or library that builds need",
         hint="install the development package on the node"),
    Fact("user.*", "names:user", _EQUAL, "the job's user: name, IDs, groups, home, shell", hint=_NAMES, of_site=True),
    Fact("lookup.median_ms", "names:hosts", Rule.MUCH, "time to resolve the name of a node", "ms", _NAMES),
    Fact("lookup.names", "names:hosts", _EQUAL, "number of node names that it resolves", hint=_NAMES),
    Fact("way.*", "names:hosts", _NONE, "reason why the node cannot send to another node of the job",
         hint="look at the node's routes (`ip route`)"),
    Fact("taken.*", "names:hosts", _NONE, "address of another node of the job that this node also has",
         hint="look at `ip addr` there"),
    Fact("host.*", "names:hosts", _EQUAL, "address of another node of the job, of at most 64 nodes", hint=_NAMES,
         of_site=True),
    Fact("gpu.*", "gpus:facts", _TOLD,
         "name, driver, memory, ECC, PCIe link, slow-down, compute capability and MIG of a GPU"),
    Fact("site.mounts", "mounts:listed", _TOLD, "all mounts"),
    Fact("site.processor", "processor:facts", _TOLD, "the processor, by lscpu"),
    Fact("site.cpus", "processor:facts", _TOLD, "CPUs with their core, socket and NUMA domain"),
    Fact("site.hwloc", "processor:facts", _TOLD, "number of objects of each type, by hwloc"),
    Fact("site.mig_slices", "gpus:slices", _TOLD, "MIG slices of NVIDIA's GPUs"),
    Fact("site.amd_gpus", "gpus:of_amd", _TOLD, "number of AMD's GPUs"),
    Fact("site.folders", "folders:facts", _TOLD, "folders in which the user can write"),
    Fact("site.lustre", "folders:lustre", _TOLD, "default striping and active targets of Lustre file systems"),
    Fact("site.versions", "programs:versions", _TOLD, "versions of programs"),
    Fact("site.modules", "programs:available", _TOLD, "modules that a user may load"),
    Fact("site.promised_memory_mib_per_cpu", lambda: os.environ.get("SLURM_MEM_PER_CPU"), _TOLD,
         "memory that Slurm promised for each CPU", "MiB"),
)  # fmt: skip


@functools.lru_cache(maxsize=None)
def fact_of(name: str) -> Optional[Fact]:
    """Return the row of the fact of this name, or ``None``."""
    return next((fact for fact in FACTS if fnmatch.fnmatchcase(name, fact.name)), None)


def known_fact(pattern: str) -> bool:
    """Return whether a name or pattern can match a fact."""
    return any(fact.matches(pattern) for fact in FACTS)


# Subject of readers that access folders on PATH or run programs -> longest time in s. A folder may be on a file system
# that hangs. Modules that ask single folders have deadlines of their own.
_MAY_HANG = {"environment": 30, "builds": 60, "programs": 120, "modules": 120, "software": 300}


def collected(patterns, questions):
    """Return the facts whose names match one of the patterns: name -> number, text, list, or ``None`` if unknown.

    A reader that fails or hangs gives one fact, the reason. The others are kept.

    :param questions: parameter of readers -> its value.
    """
    # All are loaded before the first one reads: the program's file may be on a file system that then hangs.
    readers = {}
    for fact in FACTS:
        if fact.read and fact.read not in readers and any(map(fact.matches, patterns)):
            function = loaded(fact.read)
            code = function.__code__
            arguments = [questions[word] for word in code.co_varnames[: code.co_argcount]]
            readers[fact.read] = subject(fact.read) or fact.name, function, fact.name, arguments
    facts = {}
    for call in readers.values():
        if call[0] not in _MAY_HANG:
            facts.update(answer(*call))
    for seconds in sorted(set(_MAY_HANG.values())):
        calls = [call for call in readers.values() if _MAY_HANG.get(call[0]) == seconds]
        for call, told in zip(calls, all_within(seconds, answer, calls)):
            facts.update({"failed." + call[0]: f"no answer within {seconds} s"} if told is None else told)
    wanted = ("failed.*", *patterns)
    return {name: value for name, value in facts.items() if any(fnmatch.fnmatchcase(name, each) for each in wanted)}


def answer(title, function, name, arguments):
    """Return the facts of a reader: a family's, or the fact of this name."""
    try:
        value = function(*arguments)
        return dict(value) if isinstance(value, dict) or hasattr(value, "__next__") else {name: value}
    except Exception as error:  # an unknown format of one kernel file must not hide the other facts
        return {"failed." + title: f"{type(error).__name__}: {error}"}


def subject(reader):
    return reader.partition(":")[0] if isinstance(reader, str) else ""


def loaded(reader):
    if not isinstance(reader, str):
        return reader
    return getattr(importlib.import_module("kappa.node.facts." + subject(reader)), reader.partition(":")[2])
