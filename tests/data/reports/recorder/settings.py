"""ReFrame settings of the recorded reports: one partition, jobs as local processes."""

site_configuration = {
    "systems": [
        {
            "name": "bench",
            "hostnames": [".*"],
            "partitions": [
                {"name": "cpu", "scheduler": "local", "launcher": "local", "environs": ["packaged"], "max_jobs": 4}
            ],
        }
    ],
    "environments": [{"name": "packaged"}],
}
