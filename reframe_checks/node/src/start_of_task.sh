#!/usr/bin/env bash
# Prints the node and its seconds since boot, which is when this task began on a clock that nobody sets, as a line of JSON
# and its SHA-256. With --job: since when slurmctld has the job, and whether prologs run before it (PrologFlags).
set -euo pipefail
if [[ ${1-} == --job ]]; then
    elapsed=$(squeue --noheader --jobs="$SLURM_JOB_ID" --Format=TimeUsed | tr -cd '0-9:-') || elapsed=''
    flags=$(scontrol show config | sed -n 's/^PrologFlags *= *//p' | tr -cd 'A-Za-z,()') || flags=''
    line="{\"elapsed\": \"$elapsed\", \"prolog_flags\": \"$flags\"}"
else
    read -r up_s _ < /proc/uptime
    line="{\"node\": \"${SLURMD_NODENAME:-$(uname -n)}\", \"up_s\": $up_s}"
fi
sum=$(printf %s "$line" | sha256sum)
echo "$line ${sum%% *}"
