#!/usr/bin/env bash
# Prints the node and CPUs of this rank, in one write, so that lines of several ranks do not mix.
set -euo pipefail
cpus=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
echo "rank $SLURM_PROCID on $(hostname -s) cpus $cpus end"
