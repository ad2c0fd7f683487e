#!/usr/bin/env bash
# Usage: ring_of_links.sh REPEATS COMMAND…
# Runs COMMAND (two ranks) between each node of the job and the next one, one pair after the other.
set -euo pipefail
repeats=$1
shift
# PMIx's fence in a ring, which a site may have chosen, hangs now and then in steps on a part of the job's nodes.
export SLURM_PMIX_FENCE=mixed
mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
links=${#nodes[@]}
# Two nodes have one link, not a ring of two.
if ((links == 2)); then links=1; fi
for ((i = 0; i < links; i++)); do
    a=${nodes[i]} b=${nodes[(i + 1) % ${#nodes[@]}]}
    for ((r = 0; r < repeats; r++)); do
        echo "@link $a $b"
        srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --nodelist="$a,$b" "$@"
    done
done
