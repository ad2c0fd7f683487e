"""The time, node-hours and bytes that a run of a mode will take, from stored runs or from its checks."""
