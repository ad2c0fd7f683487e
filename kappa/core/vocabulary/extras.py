"""The one table of extras: what a check reads of its partition or environment besides features.

Each field is the key in a site's ``site.yaml``, with its type, meaning, unit and who reads it.
"""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from kappa.core.vocabulary.features import STORAGE_TARGETS
from kappa.core.vocabulary.node_facts import Bound

Path = Annotated[str, Meta(pattern=r"^/", description="an absolute path")]
Count = Annotated[int, Meta(ge=1)]
Program = Annotated[str, Meta(pattern=r"^[\w./+-]+$", description="a program's name or path")]
#: Of a job's environment.
Variables = Annotated[dict[Annotated[str, Meta(pattern=r"^[A-Za-z_]\w*$")], str | int], Meta(min_length=1)]
Positive = Annotated[float, Meta(gt=0)]


def _said(meaning: str, read_by: str, unit: str = "") -> Meta:
    return Meta(description=meaning, extra={"read_by": read_by, "unit": unit})


class StatedStriping(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Of a folder on Lustre: ``stripe_size`` in bytes, a ``stripe_count`` of -1 being all object storage targets:
    the file system has ``osts`` of them on ``servers``."""

    stripe_count: Annotated[int, Meta(ge=-1)]
    stripe_size: Count
    osts: Count | None = None
    servers: Count | None = None

    def __post_init__(self) -> None:
        if (self.osts is None) != (self.servers is None):
            raise ValueError("expected both of osts and servers, or none of them")
        if self.osts is not None and self.servers is not None and self.servers > self.osts:
            raise ValueError("expected at most as many servers as osts")


class StorageTarget(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """``parallel``: all nodes see the same files. ``measured``: false if only its free space is looked at."""

    path: Path
    parallel: bool = False
    measured: bool = True
    lustre: StatedStriping | None = None


class StatedTransport(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What MPI has to use between nodes: ``adapters`` that share the traffic (`mlx5_0:1`, `eth0`), ``protocols`` as the
    library calls them (`rc_mlx5`, `dc_*`, `tcp`); names or shell patterns."""

    adapters: list[str] = []
    protocols: list[str] = []


class SharedHost(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What others may take of the machine under all nodes, as a share of its cores and in MB/s of its disks."""

    cores_share: Annotated[float, Meta(gt=0, le=1)]
    disk_mb_per_s: Positive


class FabricPlace(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """``variant`` as in ``kappa.core.fabrics``."""

    file: str
    variant: Literal["sound", "degraded", "shared"] = "sound"


class PartitionExtras(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Extras of a partition."""

    nodes: Annotated[Count, _said("number of nodes; a node fewer is a failure", "every check")]
    max_pending_time: Annotated[
        Annotated[str, Meta(pattern=r"^(\d+d)?(\d+h)?(\d+m)?(\d+s)?$", min_length=2)] | None,
        _said("a job that waits for longer is cancelled, and the run INCOMPLETE, for instance `10m`", "every check"),
    ] = None
    max_time: Annotated[
        Annotated[str, Meta(pattern=r"^(\d+d)?(\d+h)?(\d+m)?(\d+s)?$", min_length=2)] | None,
        _said(
            "no job asks for longer, as `30m`: Slurm's MaxTime or MaxWall; a case that takes longer is skipped",
            "every check",
        ),
    ] = None
    slurm_partition: Annotated[str | None, _said("the partition's name in Slurm, if it differs", "PartitionState")] = (
        None
    )
    slurm_nodes: Annotated[
        str | None,
        _said(
            "`n[1-8]`: the nodes of that partition that this one stands for, where it holds others, too; `access` then "
            "gets these alone",
            "PartitionState",
        ),
    ] = None
    storage: Annotated[
        dict[str, StorageTarget],
        _said(
            f"for each storage target ({', '.join(STORAGE_TARGETS)}) `path`; `scratch` and `nvme` are a node's own, "
            "of the others all nodes may see the same files, `parallel: true`; `measured: false` if only its free "
            "space is looked at; `lustre: {stripe_count: N, stripe_size: BYTES}`, which is set, read back, asserted; "
            "there `osts: N, servers: N`, the file system's object storage targets, which `OstSweep` measures",
            "PartitionHealth, every check of storage",
        ),
    ] = {}
    uniform_files: Annotated[
        list[str], _said("libraries and programs that have to be equal on all nodes", "PartitionHealth")
    ] = []
    users: Annotated[
        list[Annotated[str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_.@-]*\$?$")]],
        _said(
            "who has to be known on every node as on the login node, besides the one who runs the suite and up to 20 "
            "owners of folders beside that home",
            "PartitionHealth",
        ),
    ] = []
    node_facts: Annotated[
        dict[str, int | float | str | bool | Bound | None],
        _said(
            "`{FACT: value}` or `{FACT: {at_least: N, at_most: N}}`: what every node has to tell, whatever most of "
            "them do; FACT is a name, or a shell pattern, of the [facts of a node](#facts-of-a-node)",
            "PartitionHealth",
        ),
    ] = {}
    peak_gflops_per_core: Annotated[
        Positive | None, _said("theoretical peak, for HPL's fraction of peak", "Hpl, HplScaling, HplNvidia", "Gflop/s")
    ] = None
    peak_gflops_per_gpu: Annotated[
        Positive | None, _said("the same of a GPU", "HplNvidia, HplNvidiaScaling", "Gflop/s")
    ] = None
    memory_gib_per_node: Annotated[
        Positive | None, _said("for the problem sizes of HPL and HPCG", "Hpl, HplScaling, Hpcg", "GiB")
    ] = None
    gpu_memory_gib: Annotated[
        Positive | None, _said("of one GPU, for HPL's problem size", "HplNvidia, HplNvidiaScaling", "GiB")
    ] = None
    fabric: Annotated[
        FabricPlace | None,
        _said("of a simulated partition, made from `fabrics`: the fabric's file and variant", "every check on fabrics"),
    ] = None
    placements: Annotated[
        dict[str, Annotated[list[str], Meta(min_length=1)]],
        _said(
            "`{same_switch: [OPTION, …], other_switch: […]}`: job options that request it, as `--switches=1`, "
            "`--nodelist=a,b` or, for nodes whose feature in Slurm is their switch, `--constraint=[sw1*1&sw2*1]`, "
            "which can be measured again on other nodes",
            "OSU point-to-point",
        ),
    ] = {}
    gpus_per_node: Annotated[Count | None, _said("for the GPU checks", "GpuInventory, every check on GPUs")] = None
    gpus_of_sockets: Annotated[
        Annotated[list[Annotated[int, Meta(ge=0)]], Meta(min_length=2, max_length=2)] | None,
        _said("`[0, 2]`: a GPU of the first socket and one of the second, by NVIDIA's numbers", "OSU between GPUs"),
    ] = None
    shared_host: Annotated[
        SharedHost | None,
        _said(
            "the partition's nodes are virtual and share the machine on which ReFrame runs: a measurement during which "
            "others used more than `cores_share` of its cores, or `disk_mb_per_s` of its disks, "
            "[blames nobody](architecture.md#a-busy-machine-is-no-nodes-fault)",
            "every check",
        ),
    ] = None
    transport: Annotated[
        StatedTransport | None,
        _said(
            "`{adapters: [mlx5_0:1], protocols: [rc_mlx5, dc_mlx5]}`: what MPI has to use between nodes, by names or "
            "shell patterns; each of the adapters carries its part; without it, what most nodes use, and RDMA where "
            "there is some",
            "TransportUsed",
        ),
    ] = None
    rails: Annotated[
        Annotated[list[Annotated[str, Meta(pattern=r"^[A-Za-z][\w.-]*(:[0-9]+)?$")]], Meta(min_length=2, max_length=64)]
        | None,
        _said(
            "`[mlx5_0:1, mlx5_1:1]`: the adapters of each node that are alike, ports of RDMA adapters or network "
            "interfaces, whether or not MPI uses all of them by itself",
            "RailSweep",
        ),
    ] = None
    also_in: Annotated[
        dict[str, list[str]],
        _said("`{MODE: [Class, …]}`: checks that run in a mode here besides those that say so", "every check"),
    ] = {}
    not_in: Annotated[
        dict[str, list[str]],
        _said(
            "`{MODE: [Class, …]}`: checks that the site, on all of its partitions, leaves to its other modes; "
            "`full` has all",
            "every check",
        ),
    ] = {}
    tuning: Annotated[
        dict[str, dict[str, Any]],
        _said("`{Class: {variable: value}}`: sizes of a check, see [tunables](#tunables)", "the check itself"),
    ] = {}


class HplNvidiaImage(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    image: Path
    options: list[str] = []
    arguments: list[str] = []


class EnvironmentExtras(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Extras of an environment."""

    hpl: Annotated[Literal["xhpl", "hpcc"] | None, _said("the program of the feature `hpl`", "Hpl, HplScaling")] = None
    stream: Annotated[
        Literal["stream", "likwid-bench"] | None, _said("the program of the feature `stream`", "Stream, StreamNuma")
    ] = None
    hpl_nvidia: Annotated[
        HplNvidiaImage | None,
        _said(
            "`{image: PATH, options: [OPTION of the runtime, …], arguments: [ARGUMENT of hpl.sh, …]}`",
            "HplNvidia, HplNvidiaScaling",
        ),
    ] = None
    build_dir: Annotated[
        str | None,
        _said(
            "where programs of this repository are built once, on the login node, in a folder for each; relative to "
            "the repository. Another checkout takes them from `$KAPPA_BUILDS` (default: `~/.cache/kappa/builds`)",
            "EmtScaling, EmtCorrectness, PairSweep, NodeSweep",
        ),
    ] = None
    preconnect: Annotated[
        Variables | None,
        _said(
            "`{VARIABLE: VALUE}` that let MPI connect all ranks at the start, as `OMPI_MCA_mpi_preconnect_mpi: 1`",
            "MpiMemoryPreconnected",
        ),
    ] = None
    tag_matching: Annotated[
        Variables | None,
        _said(
            "`{VARIABLE: VALUE}` that have the adapter match tags, as `UCX_RC_MLX5_TM_ENABLE: y`",
            "TagMatching, TagMatchingDepth",
        ),
    ] = None
    rendezvous: Annotated[
        Variables | None,
        _said(
            "the same for the way of long messages, as `UCX_RNDV_SCHEME: put_zcopy`, or "
            "`OMPI_MCA_btl_tcp_eager_limit: 1024`",
            "RendezvousProtocol",
        ),
    ] = None
    unreliable: Annotated[
        Variables | None,
        _said(
            "the same for unreliable datagrams in place of reliable connections, as `UCX_TLS: ud,sm,self`",
            "UnreliableDatagrams, MpiMemoryUnreliable",
        ),
    ] = None
    sharp: Annotated[
        Variables | None,
        _said(
            "the same for sums in the network, with a log that says so, as `OMPI_MCA_coll_hcoll_enable: 1` with "
            "`HCOLL_ENABLE_SHARP: 3` and `SHARP_COLL_LOG_LEVEL: 3`",
            "OffloadedSums, LammpsOffloaded, OpenFoamOffloaded",
        ),
    ] = None
    short_queues: Annotated[
        Variables | None,
        _said(
            "the same for short queues, as `UCX_RC_TX_QUEUE_LEN: 16` with `UCX_RC_RX_QUEUE_LEN: 64`, or "
            "`OMPI_MCA_btl_tcp_sndbuf: 16384` with `OMPI_MCA_btl_tcp_rcvbuf: 16384`",
            "ShortQueues",
        ),
    ] = None
    cc: Annotated[
        Program | None, _said("C compiler of those programs, as `mpicc.mpich`; by default CMake's own", "CMakeProgram")
    ] = None
    cxx: Annotated[Program | None, _said("C++ compiler, the same", "CMakeProgram")] = None
    to_build: Annotated[
        list[str],
        _said(
            "headers and static libraries that builds on compute nodes need, as `mpi.h` and `libc.a`: found by the "
            "compiler of MPI on every node",
            "SoftwareInventory",
        ),
    ] = []
    image: Annotated[
        str | None,
        _said(
            "of a container, in which its programs lie, as `/apps/kappa.sif`: see [containers](#containers)",
            "every check of its programs",
        ),
    ] = None
    image_options: Annotated[
        list[str], _said("more options of `apptainer exec`, as `[--bind, /var/spool/slurmd]`", "the same")
    ] = []
    mpi_version: Annotated[str | None, _said("command, by default `mpirun --version`", "provenance")] = None
    hash_files: Annotated[
        dict[str, list[str]],
        _said(
            "`{feature: [PATH, …]}`: files whose SHA-256 is kept with each result besides the program's own; relative "
            "to the repository, and `*` is any name",
            "provenance",
        ),
    ] = {}
