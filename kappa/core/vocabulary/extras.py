"""The table of extras: the keys of a partition or environment, besides features, that checks read.

Each field is a key in a site's ``site.yaml``, with its type, meaning, unit and the checks that read it.
"""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from kappa.core.vocabulary.features import STORAGE_TARGETS
from kappa.core.vocabulary.keys import said as _said
from kappa.core.vocabulary.node_facts import Bound

Path = Annotated[str, Meta(pattern=r"^/", description="an absolute path")]
Count = Annotated[int, Meta(ge=1)]
Program = Annotated[str, Meta(pattern=r"^[\w./+-]+$", description="a program's name or path")]
#: Variables of a job's environment.
Variables = Annotated[dict[Annotated[str, Meta(pattern=r"^[A-Za-z_]\w*$")], str | int], Meta(min_length=1)]
Positive = Annotated[float, Meta(gt=0)]


class StatedStriping(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The striping of a folder on Lustre."""

    stripe_count: Annotated[
        Annotated[int, Meta(ge=-1)],
        _said("object storage targets of a file, -1 for all; the check sets the value, reads it back and compares"),
    ]
    stripe_size: Annotated[Count, _said("size of a stripe; set and compared like `stripe_count`", unit="bytes")]
    osts: Annotated[Count | None, _said("number of object storage targets of the file system", "OstSweep")] = None
    servers: Annotated[
        Count | None, _said("number of object storage servers; state it together with `osts`", "OstSweep")
    ] = None

    def __post_init__(self) -> None:
        if (self.osts is None) != (self.servers is None):
            raise ValueError("expected both osts and servers, or neither")
        if self.osts is not None and self.servers is not None and self.servers > self.osts:
            raise ValueError("expected at most as many servers as osts")


class StorageTarget(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A folder that checks of storage measure."""

    path: Annotated[Path, _said("a folder in which you may write")]
    parallel: Annotated[
        bool, _said("true if all nodes see the same files; not for `scratch` and `nvme`, which each node has alone")
    ] = False
    measured: Annotated[bool, _said("false if Kappa checks its free space only")] = True
    lustre: Annotated[StatedStriping | None, _said("the striping of a folder on Lustre")] = None


class StatedTransport(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The adapters and protocols that MPI must use between nodes."""

    adapters: Annotated[
        list[str],
        _said("names or shell patterns, for instance `[mlx5_0:1]` or `[eth0]`; each adapter must carry its share"),
    ] = []
    protocols: Annotated[
        list[str], _said("the MPI library's names or shell patterns, for instance `[rc_mlx5, dc_*]` or `[tcp]`")
    ] = []


class SharedHost(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """How much other processes may use of the machine that carries all virtual nodes."""

    cores_share: Annotated[
        Annotated[float, Meta(gt=0, le=1)], _said("share of the machine's cores that other processes may use")
    ]
    disk_mb_per_s: Annotated[Positive, _said("disk traffic that other processes may cause", unit="MB/s")]


class FabricPlace(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """``variant`` as in ``kappa.core.fabrics``."""

    file: Annotated[str, _said("the fabric's file")]
    variant: Annotated[Literal["sound", "degraded", "shared"], _said("the fabric's variant")] = "sound"


class PartitionExtras(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Extras of a partition."""

    nodes: Annotated[Count, _said("number of nodes; one node fewer is a failure", "every check")]
    max_pending_time: Annotated[
        Annotated[str, Meta(pattern=r"^(\d+d)?(\d+h)?(\d+m)?(\d+s)?$", min_length=2)] | None,
        _said("cancel a job that waits longer, for instance `10m`; the run is then INCOMPLETE", "every check"),
    ] = None
    max_time: Annotated[
        Annotated[str, Meta(pattern=r"^(\d+d)?(\d+h)?(\d+m)?(\d+s)?$", min_length=2)] | None,
        _said(
            "longest time that a job requests, for instance `30m`: state Slurm's MaxTime or MaxWall; Kappa skips a "
            "case that takes longer",
            "every check",
        ),
    ] = None
    slurm_partition: Annotated[str | None, _said("the partition's name in Slurm, if it differs", "PartitionState")] = (
        None
    )
    slurm_nodes: Annotated[
        str | None,
        _said(
            "`n[1-8]`: the nodes of the Slurm partition that belong to this partition, if it also has other nodes; "
            "`access` must then select only these nodes",
            "PartitionState",
        ),
    ] = None
    storage: Annotated[
        dict[str, StorageTarget],
        _said(
            f"`{{TARGET: …}}`, the storage targets; TARGET is one of {', '.join(STORAGE_TARGETS)}. Each gives the "
            "partition its features",
            "PartitionHealth, every check of storage",
        ),
    ] = {}
    uniform_files: Annotated[
        list[str], _said("paths of libraries and programs that must be equal on all nodes", "PartitionHealth")
    ] = []
    users: Annotated[
        list[Annotated[str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_.@-]*\$?$")]],
        _said(
            "users that every node must know with the same IDs as the login node; Kappa always checks your own user "
            "and up to 20 owners of folders beside your home",
            "PartitionHealth",
        ),
    ] = []
    node_facts: Annotated[
        dict[str, int | float | str | bool | Bound | None],
        _said(
            "`{FACT: value}` or `{FACT: {at_least: N, at_most: N}}`: the value that every node must have; FACT is a "
            "name or a shell pattern of the [facts of a node](#facts-of-a-node)",
            "PartitionHealth",
        ),
    ] = {}
    peak_gflops_per_core: Annotated[
        Positive | None,
        _said("theoretical peak of a core, for HPL's fraction of peak", "Hpl, HplScaling, HplNvidia", "Gflop/s"),
    ] = None
    peak_gflops_per_gpu: Annotated[
        Positive | None, _said("theoretical peak of a GPU", "HplNvidia, HplNvidiaScaling", "Gflop/s")
    ] = None
    memory_gib_per_node: Annotated[
        Positive | None,
        _said("memory of a node, for the problem sizes of HPL and HPCG", "Hpl, HplScaling, Hpcg", "GiB"),
    ] = None
    gpu_memory_gib: Annotated[
        Positive | None, _said("memory of one GPU, for HPL's problem size", "HplNvidia, HplNvidiaScaling", "GiB")
    ] = None
    fabric: Annotated[
        FabricPlace | None,
        _said("the fabric of a simulated partition; Kappa makes it from `fabrics`", "every check on fabrics"),
    ] = None
    placements: Annotated[
        dict[str, Annotated[list[str], Meta(min_length=1)]],
        _said(
            "`{same_switch: [OPTION, …], other_switch: […]}`: job options that request such nodes, for instance "
            "`--switches=1` or `--nodelist=a,b`. If a Slurm feature names each node's switch, use "
            "`--constraint=[sw1*1&sw2*1]`: Kappa can then re-measure on other nodes",
            "OSU point-to-point",
        ),
    ] = {}
    gpus_per_node: Annotated[Count | None, _said("number of GPUs of a node", "GpuInventory, every check on GPUs")] = (
        None
    )
    gpus_of_sockets: Annotated[
        Annotated[list[Annotated[int, Meta(ge=0)]], Meta(min_length=2, max_length=2)] | None,
        _said("`[0, 2]`: NVIDIA's numbers of one GPU on each of the two sockets", "OSU between GPUs"),
    ] = None
    shared_host: Annotated[
        SharedHost | None,
        _said(
            "state it if the nodes are virtual and share the machine on which ReFrame runs: if other processes use "
            "more than this limit during a measurement, Kappa "
            "[blames no node](architecture.md#a-busy-machine-is-no-nodes-fault)",
            "every check",
        ),
    ] = None
    transport: Annotated[
        StatedTransport | None,
        _said(
            "the adapters and protocols that MPI must use between nodes; without this key Kappa expects those of "
            "most nodes, and RDMA if the nodes have it",
            "TransportUsed",
        ),
    ] = None
    rails: Annotated[
        Annotated[list[Annotated[str, Meta(pattern=r"^[A-Za-z][\w.-]*(:[0-9]+)?$")]], Meta(min_length=2, max_length=64)]
        | None,
        _said(
            "`[mlx5_0:1, mlx5_1:1]`: the equal adapters of each node, RDMA ports or network interfaces; list them "
            "also if MPI does not use all of them",
            "RailSweep",
        ),
    ] = None
    also_in: Annotated[
        dict[str, list[str]],
        _said("`{MODE: [Class, …]}`: checks that run in a mode here in addition to its own", "every check"),
    ] = {}
    not_in: Annotated[
        dict[str, list[str]],
        _said(
            "`{MODE: [Class, …]}`: checks that do not run in a mode, on all partitions of the site; not for `full`",
            "every check",
        ),
    ] = {}
    tuning: Annotated[
        dict[str, dict[str, Any]],
        _said("`{Class: {variable: value}}`: sizes of a check, see [tunables](#tunables)", "the check itself"),
    ] = {}


class HplNvidiaImage(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """NVIDIA's HPL in a container."""

    image: Annotated[Path, _said("path of the container image")]
    options: Annotated[list[str], _said("options of the container runtime")] = []
    arguments: Annotated[list[str], _said("arguments of `hpl.sh`")] = []


class EnvironmentExtras(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Extras of an environment."""

    hpl: Annotated[Literal["xhpl", "hpcc"] | None, _said("the program of the feature `hpl`", "Hpl, HplScaling")] = None
    stream: Annotated[
        Literal["stream", "likwid-bench"] | None, _said("the program of the feature `stream`", "Stream, StreamNuma")
    ] = None
    hpl_nvidia: Annotated[
        HplNvidiaImage | None,
        _said(
            "the container of the feature `hpl-nvidia`",
            "HplNvidia, HplNvidiaScaling",
        ),
    ] = None
    build_dir: Annotated[
        str | None,
        _said(
            "folder, relative to the repository, in which Kappa builds its own programs once, on the login node. "
            "Another checkout takes them from `$KAPPA_BUILDS` (default: `~/.cache/kappa/builds`)",
            "EmtScaling, EmtCorrectness, PairSweep, NodeSweep",
        ),
    ] = None
    preconnect: Annotated[
        Variables | None,
        _said(
            "variables that make MPI connect all ranks at the start, for instance `OMPI_MCA_mpi_preconnect_mpi: 1`",
            "MpiMemoryPreconnected",
        ),
    ] = None
    tag_matching: Annotated[
        Variables | None,
        _said(
            "variables that make the adapter match tags, for instance `UCX_RC_MLX5_TM_ENABLE: y`",
            "TagMatching, TagMatchingDepth",
        ),
    ] = None
    rendezvous: Annotated[
        Variables | None,
        _said(
            "variables that change how MPI sends long messages, for instance `UCX_RNDV_SCHEME: put_zcopy` or "
            "`OMPI_MCA_btl_tcp_eager_limit: 1024`",
            "RendezvousProtocol",
        ),
    ] = None
    unreliable: Annotated[
        Variables | None,
        _said(
            "variables for unreliable datagrams instead of reliable connections, for instance `UCX_TLS: ud,sm,self`",
            "UnreliableDatagrams, MpiMemoryUnreliable",
        ),
    ] = None
    sharp: Annotated[
        Variables | None,
        _said(
            "variables for sums in the network and for a log that confirms them, for instance "
            "`OMPI_MCA_coll_hcoll_enable: 1` with `HCOLL_ENABLE_SHARP: 3` and `SHARP_COLL_LOG_LEVEL: 3`",
            "OffloadedSums, LammpsOffloaded, OpenFoamOffloaded",
        ),
    ] = None
    short_queues: Annotated[
        Variables | None,
        _said(
            "variables for short queues, for instance `UCX_RC_TX_QUEUE_LEN: 16` with `UCX_RC_RX_QUEUE_LEN: 64`, or "
            "`OMPI_MCA_btl_tcp_sndbuf: 16384` with `OMPI_MCA_btl_tcp_rcvbuf: 16384`",
            "ShortQueues",
        ),
    ] = None
    cc: Annotated[
        Program | None,
        _said(
            "C compiler for Kappa's own programs, for instance `mpicc.mpich`", "CMakeProgram", default="CMake's choice"
        ),
    ] = None
    cxx: Annotated[
        Program | None, _said("C++ compiler for Kappa's own programs", "CMakeProgram", default="CMake's choice")
    ] = None
    to_build: Annotated[
        list[str],
        _said(
            "headers and static libraries that the MPI compiler must find on every node, for instance `mpi.h` and "
            "`libc.a`; for users who build on compute nodes",
            "SoftwareInventory",
        ),
    ] = []
    image: Annotated[
        str | None,
        _said(
            "container image with the programs, for instance `/apps/kappa.sif`: see [containers](#containers)",
            "every check of its programs",
        ),
    ] = None
    image_options: Annotated[
        list[str],
        _said(
            "more options of `apptainer exec`, for instance `[--bind, /var/spool/slurmd]`",
            "every check of its programs",
        ),
    ] = []
    mpi_version: Annotated[
        str | None, _said("command that prints the MPI version", "provenance", default="`mpirun --version`")
    ] = None
    hash_files: Annotated[
        dict[str, list[str]],
        _said(
            "`{feature: [PATH, …]}`: files whose SHA-256 Kappa keeps with each result, in addition to the program's; "
            "paths are relative to the repository, `*` matches any name",
            "provenance",
        ),
    ] = {}
