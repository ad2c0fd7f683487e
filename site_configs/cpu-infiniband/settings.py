"""ReFrame settings of an example site: 16 nodes with two CPUs of 20 cores, InfiniBand, no GPU.

Nodes as in HPC-AI Advisory Council, "The Effect of InfiniBand In-Network Computing on CAE Simulations", section 3;
see README.md. What that page does not state is marked `assumed`: replace it.
"""

import os
import pathlib

from spack_envs.installer.reframe_settings import planned_environments

SITE = pathlib.Path(__file__).resolve().parent
REPOSITORY = SITE.parents[1]
RESULTS = pathlib.Path(os.environ.get("KAPPA_RESULTS", REPOSITORY / "results/cpu-infiniband"))

# ReFrame 4.10 knows general/reference_prefix, but its schema refuses it in a settings file.
os.environ.setdefault("RFM_REFERENCE_PREFIX", str(SITE / "references"))

# 16 servers, "Dual Socket Intel Xeon Gold 6138": 20 cores each. `reframe --detect-host-topology=FILE` on a compute
# node writes what has to stand in `processor`.
NODES, SOCKETS, CORES_PER_SOCKET = 16, 2, 20
CORES = SOCKETS * CORES_PER_SOCKET
# Assumed: sub-NUMA clustering is on, two domains a socket, with cores numbered one after the other.
NUMA_NODES = 4


def masks(parts):
    """CPU masks of so many equal parts of a node's cores."""
    size = CORES // parts
    return [hex((2**size - 1) << (size * part)) for part in range(parts)]


# Without `app` and `mpi-io` installed, the first run installs them.
SPACK = [environment for environment in planned_environments("cpu-infiniband") if environment["name"] != "gpu"]
MPI = [
    ["OMPI_MCA_pml", "ucx"],
    ["OMPI_MCA_osc", "ucx"],
    ["SLURM_MPI_TYPE", "pmix"],  # srun's, unless Slurm's MpiDefault says so
]

site_configuration = {
    "systems": [
        {
            "name": "cpu-infiniband",
            "descr": "16 CPU nodes on InfiniBand (example)",
            "hostnames": [".*"],
            "prefix": str(RESULTS),
            "partitions": [
                {
                    "name": "cpu",
                    "descr": "all nodes",
                    "scheduler": "slurm",
                    "launcher": "srun",
                    "access": ["--partition=cpu"],
                    "environs": ["system", *(environment["name"] for environment in SPACK)],
                    "max_jobs": 8,
                    "sched_options": {"use_nodes_option": True},
                    "processor": {
                        "num_cpus": CORES,
                        "num_cpus_per_core": 1,
                        "num_sockets": SOCKETS,
                        "num_cpus_per_socket": CORES_PER_SOCKET,
                        "topology": {
                            "cores": masks(CORES), "sockets": masks(SOCKETS), "numa_nodes": masks(NUMA_NODES),
                        },
                    },
                    "features": [
                        "scale_one_node", "scale_two_nodes", "scale_whole_partition", "scale_each_node",
                        "network", "collectives", "links", "cores", "compute", "numa_domains",
                        "ranks_2", "ranks_4", "nodes_2", "nodes_4",
                        "placement_same_numa", "placement_other_numa", "placement_other_socket",
                        "placement_same_switch", "placement_other_switch",
                        # Assumed: a disk in each node, and NFS.
                        "storage_scratch", "storage_shared", "parallel_shared",
                    ],
                    "extras": {
                        "nodes": NODES,
                        "max_pending_time": "2h",
                        # 2.0 GHz x 32 double-precision FLOP a cycle: two AVX-512 units.
                        "peak_gflops_per_core": 64,
                        "memory_gib_per_node": 192,
                        "storage": {"scratch": "/scratch", "shared": "/shared/kappa"},
                        # Assumed: cn01 to cn08 on one leaf switch, cn09 to cn16 on another; Slurm's topology.conf
                        # says so, or --switches has no effect and the checks of these placements fail.
                        "placements": {
                            "same_switch": ["--switches=1"],
                            "other_switch": ["--nodelist=cn08,cn09"],
                        },
                    },
                }
            ],
        }
    ],
    "environments": [
        {
            # The nodes' own packages, and compilers and MPI for the programs of this repository.
            "name": "system",
            "features": ["fio", "sweep-build"],
            "extras": {"build_dir": str(REPOSITORY / ".kappa/build-cpu-infiniband")},
            "env_vars": MPI,
        },
        *(
            {
                **environment,
                "features": [*environment["features"], "numactl"],  # of the nodes' own packages
                "env_vars": [*environment["env_vars"], *MPI],
            }
            for environment in SPACK
        ),
    ],
    "modes": [
        {"name": name, "options": [f"--tag={name}", f"--session-extras=mode={name}"]}
        for name in ("smoke", "nightly", "acceptance", "full")
    ],
    "general": [
        {"report_file": str(RESULTS / "reports/run-report-{sessionid}.json"), "trap_job_errors": True}
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
