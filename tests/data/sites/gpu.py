"""A composed site with every feature that the OSU checks know: for dry runs, whose job scripts the tests read."""

# Two sockets of two NUMA domains, eight cores each; CPUs 32 to 63 are the second threads.
CORES = [hex(0x1_0000_0001 << core) for core in range(32)]
NUMA_NODES = [hex(0xFF_0000_00FF << 8 * domain) for domain in range(4)]
SOCKETS = [hex(0xFFFF_0000_FFFF << 16 * socket) for socket in range(2)]

SCALES = ["scale_one_node", "scale_two_nodes", "scale_whole_partition", "scale_each_node"]
RANKS = [f"{kind}_{count}" for kind in ("ranks", "nodes") for count in (2, 3, 4)]
PLACEMENTS = [
    f"placement_{place}"
    for place in ("same_numa", "other_numa", "other_socket", "same_switch", "other_switch", "gpus_other_socket")
]
GPU = ["nvidia", "buffers_mixed", "gpudirect_rdma", "gdrcopy", "cuda_ipc", "ucx_rendezvous"]

GPU_PARTITION = {
    "scheduler": "slurm",
    "launcher": "srun",
    "environs": ["osu", "osu-cuda"],
    "processor": {
        "num_cpus": 64,
        "num_cpus_per_core": 2,
        "num_sockets": 2,
        "num_cpus_per_socket": 32,
        "topology": {"numa_nodes": NUMA_NODES, "sockets": SOCKETS, "cores": CORES},
    },
    "resources": [{"name": "_rfm_gpu", "options": ["--gpus-per-node={num_gpus_per_node}"]}],
    "extras": {
        "nodes": 8,
        "gpus_per_node": 4,
        "gpus_of_sockets": [0, 2],
        "placements": {"same_switch": ["--switches=1"], "other_switch": ["--nodelist=gpu1,gpu8"]},
    },
}

site_configuration = {
    "systems": [
        {
            "name": "composed",
            "hostnames": [".*"],
            "partitions": [
                {
                    **GPU_PARTITION,
                    "name": "gpu",
                    "access": ["--partition=gpu"],
                    "features": [*SCALES, "network", "collectives", *RANKS, *PLACEMENTS, *GPU],
                },
                {**GPU_PARTITION, "name": "plain", "features": [*SCALES, "network", "nvidia"]},
            ],
        }
    ],
    "environments": [
        {"name": "osu", "features": ["mpi", "osu", "osu-suite", "osu-persistent"]},
        # As Spack's environment `gpu`: programs with CUDA, and not the whole suite.
        {"name": "osu-cuda", "features": ["osu-cuda"]},
    ],
    "modes": [{"name": name, "options": [f"--tag={name}"]} for name in ("smoke", "nightly", "acceptance")],
}
