#!/usr/bin/env bash
# Says where this rank runs. One write for each, so that lines of several ranks do not mix.
set -euo pipefail
cpus=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
echo "rank $SLURM_PROCID on $(hostname -s) cpus $cpus end"
