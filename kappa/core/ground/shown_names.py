"""Names whose values other people may see in a bundle: they explain performance. All other values are redacted."""

import fnmatch
import re

# Environment variables; a star stands for any text.
_VARIABLES = re.compile("|".join(map(fnmatch.translate, [
    # OpenMP and thread libraries
    "OMP_*", "GOMP_*", "KMP_*", "MKL_NUM_THREADS", "MKL_DYNAMIC", "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS",
    "MALLOC_ARENA_MAX",
    # MPI libraries and their transports
    "OMPI_MCA_*", "OMPI_COMM_WORLD_*", "PRTE_MCA_*", "PMIX_MCA_*", "UCX_*", "UCC_*", "FI_*", "I_MPI_*", "MPICH_*",
    "MV2_*", "MVP_*", "PSM2_*", "PSM3_*", "HCOLL_*", "SHARP_COLL_*", "HYDRA_*",
    # GPUs
    "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_DEVICE_MAX_CONNECTIONS", "NCCL_*", "RCCL_*",
    "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK", "NVIDIA_VISIBLE_DEVICES",
    # the job and its binding
    "SLURM_MPI_TYPE", "SLURM_*NODELIST", "SLURM_*NODENAME", "SLURM_JOB_PARTITION", "SLURM_CPU_BIND*", "SLURM_MEM_BIND*",
    "SLURM_DISTRIBUTION", "SLURM_HINT", "SLURM_TOPOLOGY_ADDR*", "TRES",
    # programs and libraries that are loaded
    "PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "LIBRARY_PATH", "LOADEDMODULES", "CC", "CXX", "FC", "CFLAGS", "CXXFLAGS",
    "FFLAGS", "LDFLAGS", "LANG", "LC_*", "TZ",
])))  # fmt: skip
# Their numbers explain performance; other values may name a user or an account.
_NUMBERS = re.compile("|".join(map(fnmatch.translate, [
    "SLURM_*", "SBATCH_*", "SRUN_*", "PMI_*", "PMIX_*", "PALS_*", "PBS_*", "KAPPA_*", "HPL_*", "OSU_*",
])))  # fmt: skip
# A figure with its unit, a version, or a duration.
FIGURE = re.compile(r"[-+]?\d[\d.,:x()+eE-]{0,80}(?:\s?(?:%|[A-Za-zµ]{1,3}(?:i?B)?(?:/s)?))?")

# Keys of site.yaml, expected.yaml and references whose values are shown, with all values below them.
_SITE_KEYS = frozenset([
    "$index", "$sources",
    "access", "adapters", "also_in", "cc", "compiler", "container", "cores", "cores_share", "cxx", "default_mode",
    "descr", "disk_mb_per_s", "env_vars", "fact", "facts", "families", "features", "file", "format", "gpu_arch",
    "gpu_memory_gib", "gpu_options", "gpus_of_sockets", "gpus_per_node", "hpl", "installed_only", "keep",
    "launcher", "left_out", "max_jobs", "max_pending_time", "max_time", "memory_gib_per_node", "modes", "modules",
    "modules_system", "mpi_version", "node_facts", "nodes", "not_in", "not_provided", "path",
    "peak_gflops_per_core", "peak_gflops_per_gpu", "placements", "poll_rate_max", "poll_rate_min", "predicted_by",
    "processor", "quarantine", "rails", "sched_options", "scheduler", "shared_host", "slurm_nodes",
    "slurm_partition", "storage", "stream", "transport", "tuning", "uniform_files", "variant",
])  # fmt: skip


def shows_site_key(key: str, value: object) -> bool:
    """Return whether other people may see all values below ``key`` of a site's description or expectations."""
    # Lists of names; maps have keys of their own.
    return key in _SITE_KEYS or (key in ("environments", "partitions") and isinstance(value, list))


def shows_variable(name: str, value: str) -> bool:
    """Return whether other people may see the environment variable ``name`` with this value."""
    is_number = _NUMBERS.fullmatch(name) and FIGURE.fullmatch(value)
    return bool(is_number or _VARIABLES.fullmatch(name))
