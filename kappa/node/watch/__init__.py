"""The watch of a job, which finds the node at fault if the job hangs or the measurement fails (docs/hangs.md)."""
