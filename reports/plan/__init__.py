"""Predict time, node-hours and bytes of a run of a mode, from stored runs or from its checks."""
