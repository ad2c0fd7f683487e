"""A composed site for the job scripts of the compute checks: GPUs, NUMA domains, a container runtime."""

topology = {"numa_nodes": ["0x00ff", "0xff00"], "cores": [hex(1 << core) for core in range(16)]}
scales = ["scale_one_node", "scale_two_nodes", "scale_whole_partition"]
site_configuration = {
    "systems": [
        {
            "name": "paper",
            "hostnames": [".*"],
            "partitions": [
                {
                    "name": "gpu",
                    "scheduler": "slurm",
                    "launcher": "srun",
                    "environs": ["all"],
                    "features": [*scales, "compute", "numa_domains", "nvidia", "several_gpus"],
                    "processor": {"num_cpus": 16, "num_cpus_per_core": 1, "topology": topology},
                    "resources": [{"name": "_rfm_gpu", "options": ["--gres=gpu:{num_gpus_per_node}"]}],
                    "container_platforms": [{"type": "Apptainer", "default": True}],
                    "sched_options": {"use_nodes_option": True},
                    "extras": {
                        "nodes": 6,
                        "gpus_per_node": 4,
                        "gpu_memory_gib": 32,
                        "memory_gib_per_node": 256,
                        "peak_gflops_per_core": 32,
                        "peak_gflops_per_gpu": 7800,
                    },
                }
            ],
        }
    ],
    "environments": [
        {
            "name": "all",
            "features": ["hpl", "stream", "numactl", "hpl-nvidia", "nvbandwidth", "babelstream", "nccl-tests"],
            "extras": {
                "hpl": "xhpl",
                "stream": "stream",
                "hpl_nvidia": {
                    "image": "/images/hpc.sif",
                    "options": ["--no-home"],
                    "arguments": ["--gpu-affinity 0:1:2:3"],
                },
            },
        }
    ],
}
