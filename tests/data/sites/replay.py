"""A composed site for recorded output: each partition is as the machine on which it was recorded."""

SCALES = {1: "scale_one_node", 2: "scale_two_nodes"}


def partition(name, nodes, cores, features, **extras):
    return {
        "name": name,
        "scheduler": "local",
        "launcher": "srun",
        "environs": [name],
        "features": [SCALES[nodes], *features],
        "processor": {"num_cpus": cores, "num_cpus_per_core": 1, "topology": {"numa_nodes": ["0x3", "0xc"]}},
        "container_platforms": [{"type": "Apptainer", "default": True}],
        "extras": {"nodes": nodes, **extras},
    }


site_configuration = {
    "systems": [
        {
            "name": "replay",
            "hostnames": [".*"],
            "partitions": [
                partition("babelstream", 1, 4, ["nvidia"], gpus_per_node=2),
                partition("nccl", 2, 4, ["nvidia"], gpus_per_node=1, tuning={"NcclAllReduce": {"largest_mib": 128}}),
                partition("nvbandwidth", 1, 7, ["nvidia", "several_gpus"], gpus_per_node=7),
                partition("numa", 1, 4, ["compute", "numa_domains"]),
                partition(
                    "hpl", 2, 4, ["nvidia"],
                    gpus_per_node=4, gpu_memory_gib=96, peak_gflops_per_gpu=60000, peak_gflops_per_core=50,
                    tuning={"HplNvidia": {"order": 299008}, "HplNvidiaScaling": {"orders": [299008]}},
                ),
            ],
        }
    ],
    "environments": [
        {"name": "babelstream", "features": ["babelstream"]},
        {"name": "nccl", "features": ["nccl-tests"]},
        {"name": "nvbandwidth", "features": ["nvbandwidth"]},
        {"name": "numa", "features": ["stream", "numactl"], "extras": {"stream": "stream"}},
        {"name": "hpl", "features": ["hpl-nvidia"], "extras": {"hpl_nvidia": {"image": "hpc.sif"}}},
    ],
}  # fmt: skip
