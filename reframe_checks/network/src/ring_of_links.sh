#!/usr/bin/env bash
# Usage: ring_of_links.sh REPEATS COMMAND…
# Runs COMMAND (two ranks) between each node of the job and the next one, one pair after the other.
set -euo pipefail
repeats=$1
shift
mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
links=${#nodes[@]}
# Two nodes have one link, not a ring of two.
if ((links == 2)); then links=1; fi
for ((i = 0; i < links; i++)); do
    j=$(((i + 1) % ${#nodes[@]}))
    a=${nodes[i]} b=${nodes[j]}
    # In Slurm's order.
    if ((i < j)); then step=$a,$b; else step=$b,$a; fi
    for ((r = 0; r < repeats; r++)); do
        echo "@link $a $b"
        # Slurm's PMIx plug-in uses a node's number in the step as its number in the job: it asks a wrong node forever.
        SLURM_JOB_NODELIST=$step srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --nodelist="$step" "$@"
    done
done
