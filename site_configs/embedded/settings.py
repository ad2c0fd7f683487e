"""ReFrame settings of the embedded site: a real Slurm cluster of virtual nodes on one machine.

Start the cluster with ``site_configs/embedded/cluster up``; the settings put its Slurm commands first on
PATH. Jobs hold the licence ``machine``, so that only one runs at a time: all nodes share the same cores.
"""

import json
import os
import pathlib
import re

from spack_envs.installer.reframe_settings import installed_environments

SITE = pathlib.Path(__file__).resolve().parent
REPOSITORY = SITE.parents[1]
STATE = pathlib.Path(os.environ.get("KAPPA_CLUSTER_STATE", REPOSITORY / ".kappa/cluster"))
RESULTS = pathlib.Path(os.environ.get("KAPPA_RESULTS", REPOSITORY / "results/embedded"))
OSU = REPOSITORY / ".kappa/osu"

# ReFrame 4.10 knows general/reference_prefix, but its schema refuses it in a settings file.
os.environ.setdefault("RFM_REFERENCE_PREFIX", str(SITE / "references"))
os.environ["PATH"] = f"{STATE / 'bin'}:{os.environ['PATH']}"


def running_cluster():
    """Nodes and cores per node that ``cluster up`` was told, or its defaults."""
    try:
        options = json.loads((STATE / "run/instance.json").read_text(encoding="utf-8"))["options"]
        return options["nodes"], options["cpus_per_node"]
    except FileNotFoundError:
        return 4, os.cpu_count()


def peak_gflops_per_core():
    """Theoretical peak: clock x FLOP per cycle of two FMA units of the widest vectors (double precision)."""
    cpuinfo = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    clock = re.search(r"^cpu MHz\s*: ([\d.]+)", cpuinfo, re.MULTILINE)
    flop_per_cycle = 32 if " avx512f" in cpuinfo else 16 if " fma" in cpuinfo else 4
    return float(clock[1] if clock else 2000) / 1000 * flop_per_cycle


NODES, CORES = running_cluster()
HAS_NVIDIA = pathlib.Path("/dev/nvidia0").exists()
SPACK = installed_environments("embedded")
# What the site's Open MPI needs in every environment.
OPEN_MPI = [
    ["OMPI_ALLOW_RUN_AS_ROOT", "1"],
    ["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"],
    # Virtual nodes would all bind their first rank to physical core 0.
    ["OMPI_MCA_hwloc_base_binding_policy", "none"],
    # There are more ranks than cores as soon as a job uses two nodes.
    ["OMPI_MCA_mpi_yield_when_idle", "1"],
    ["OMPI_MCA_btl_tcp_if_include", "eth0"],
    # Minutes of a step: once in a while Slurm's PMIx does not bring the ranks together, and they wait for ever.
    ["SLURM_TIMELIMIT", "4"],
]
# For what has one-sided checks.
ONE_SIDED = [
    # Debian's MCA parameters switch off pt2pt, the only one-sided component that works over TCP: rdma wants get and
    # atomics of the transport, and without a component MPI_Win_allocate ends with MPI_ERR_WIN.
    ["OMPI_MCA_osc", "^ucx"],
]


# What the jobs of the environment `packaged` load.
UNIFORM_FILES = [
    f"/usr/lib/{os.uname().machine}-linux-gnu/{name}"
    for name in ("libc.so.6", "libmpi.so.40", "libopen-pal.so.40", "libopenblas.so.0", "libaio.so.1")
]


def partition(name, nodes, features, **extras):
    return {
        "name": name,
        "scheduler": "slurm",
        "launcher": "srun",
        "access": [f"--partition={extras.get('slurm_partition', name)}", "--licenses=machine:1"],
        "environs": ["packaged", *(environment["name"] for environment in SPACK)],
        "max_jobs": 8,
        "features": features,
        "processor": {"num_cpus": CORES, "num_cpus_per_core": 1, "num_sockets": 1, "num_cpus_per_socket": CORES},
        "sched_options": {
            "use_nodes_option": True,
            "slurm_pending_job_reason_poll_freq": 5,
            # A job that cannot start while a node is down is not waited for.
            "slurm_job_cancel_reasons": ["ReqNodeNotAvail", "Nodes required for job are DOWN"],
        },
        "extras": {
            "nodes": nodes,
            # Jobs run one after the other.
            "max_pending_time": "30m",
            "uniform_files": UNIFORM_FILES,
            "storage": {"scratch": "/scratch", "shared": "/shared"},
            # What others may take of the machine under all nodes before a measurement counts as robbed.
            "shared_host": {"cores_share": 0.15, "disk_mb_per_s": 20},
            **extras,
        },
    }


# Sizes for cores that are shared: seconds, not minutes.
NETWORK_TUNING = {"OsuBandwidth": {"window": 16}, "OsuBidirectionalBandwidth": {"window": 16}}
STORAGE_TUNING = {
    "Fio": {"file_size_mib": 128, "runtime_s": 1},
    **{name: {"block_mib": 32, "segments": 200} for name in ("IorNode", "IorEasy", "IorHard")},
    "Mdtest": {"items": 200},
    "BtIo": {"problem_class": "W"},
    "Iozone": {"file_sizes_mib": [8, 32, 128], "request_sizes_kib": [16, 128, 1024]},
}
COMMON_SCALES = ["scale_one_node", "scale_each_node"]

site_configuration = {
    "systems": [
        {
            "name": "embedded",
            "descr": "Slurm cluster of virtual nodes on one machine",
            "hostnames": [".*"],
            "prefix": str(RESULTS),
            "partitions": [
                partition(
                    "cpu", NODES // 2,
                    [*COMMON_SCALES, "scale_two_nodes", "ranks_2", "nodes_2", "network", "collectives", "compute"],
                    peak_gflops_per_core=peak_gflops_per_core(),
                    tuning={
                        **NETWORK_TUNING,
                        "Hpl": {"order": 2500},
                        "HplScaling": {"orders": [1000, 2000]},
                        "Stream": {"working_set": "1GB"},
                        "EmtScaling": {"steps": 4000},
                    },
                ),
                partition(
                    "gpu", NODES // 2,
                    [*COMMON_SCALES, "scale_two_nodes", "network", *(["nvidia"] if HAS_NVIDIA else [])],
                    gpus_per_node=1,
                    tuning=NETWORK_TUNING,
                ),
                partition(
                    "scratch", NODES,
                    [
                        *COMMON_SCALES, "scale_two_nodes", "links", "cores", "storage_scratch", "storage_shared",
                        "parallel_shared",
                    ],
                    tuning={
                        "NodeLinks": {"window": 16},
                        "NodeScratch": {"file_size_mib": 16, "runtime_s": 1},
                        # Virtual nodes take turns on the same cores, and TCP takes what is late for lost.
                        "PairSweep": {"least_slowdown": 2.0, "least_loss": 0.005},
                        "NodeSweep": {"least_slowdown": 2.0, "at_once": 1, "mib_per_core": 96},
                        **STORAGE_TUNING,
                    },
                ),
                # The nodes of `scratch`, for what takes several leaf switches and is measured nowhere else.
                partition(
                    "switches", NODES,
                    ["network", "placement_same_switch", "placement_other_switch"],
                    slurm_partition="scratch",
                    placements={
                        "same_switch": ["--switches=1"],
                        "other_switch": ["--constraint=[switch1*1&switch2*1]"],
                    },
                    tuning=NETWORK_TUNING,
                ),
            ],
        }
    ],
    "environments": [
        {
            # Debian's packages and mpi4py's OSU demos on the site's Open MPI.
            "name": "packaged",
            "features": ["mpi", "osu", "hpl", "stream", "fio", "emt-build", "sweep-build"],
            "extras": {
                "hpl": "hpcc",
                "stream": "likwid-bench",
                "build_dir": str(REPOSITORY / ".kappa/build"),
                "hash_files": {"osu": [str(path) for path in sorted((OSU / "lib").glob("*.py"))]},
            },
            "env_vars": [["PATH", f"{OSU / 'bin'}:$PATH"], *OPEN_MPI],
        },
        *({**environment, "env_vars": [*environment["env_vars"], *OPEN_MPI, *ONE_SIDED]} for environment in SPACK),
    ],
    "modes": [
        {"name": name, "options": [f"--tag={name}", f"--session-extras=mode={name}"]}
        for name in ("smoke", "nightly", "acceptance", "full")
    ]
    # For trying out faults and nights: a few checks of the nodes and their links.
    + [
        {
            "name": "links",
            "options": [
                "--name=^(PartitionState|PartitionHealth|NodeLinks|OsuLatency.*same_node)",
                "--session-extras=mode=links",
            ],
        }
    ],
    "general": [
        {
            "report_file": str(RESULTS / "reports/run-report-{sessionid}.json"),
            "trap_job_errors": True,
            "poll_rate_min": 1,
            "poll_rate_max": 2,
        }
    ],
    # No perflogs: nothing reads them, and what a job said would stand in them as it is.
    "logging": [{"handlers_perflog": []}],
    # ReFrame gives the database this mode whatever the umask.
    "storage": [
        {
            "enable": True, "backend": "sqlite", "sqlite_db_file": str(RESULTS / "results.db"),
            "sqlite_db_file_mode": "600",
        }
    ],
}  # fmt: skip
