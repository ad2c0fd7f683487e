"""A composed site of two hardware threads a core, as ReFrame detects it: 16 CPUs are 8 cores."""

topology = {"cores": [hex(0x101 << core) for core in range(8)]}
site_configuration = {
    "systems": [
        {
            "name": "threads",
            "hostnames": [".*"],
            "partitions": [
                {
                    "name": "smt",
                    "scheduler": "slurm",
                    "launcher": "srun",
                    "environs": ["all"],
                    "features": ["scale_each_node", "cores"],
                    "processor": {"num_cpus": 16, "num_cpus_per_core": 2, "topology": topology},
                    "sched_options": {"use_nodes_option": True},
                    "extras": {"nodes": 4},
                }
            ],
        }
    ],
    "environments": [{"name": "all", "features": ["stress-ng"]}],
}
