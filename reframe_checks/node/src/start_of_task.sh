#!/usr/bin/env bash
# Prints the node and its seconds since boot, as the task's start on a clock that is never set: a line of JSON and its
# SHA-256. With --job: the time since slurmctld started the job, and PrologFlags (prologs before the job script).
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
