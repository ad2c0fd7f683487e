#!/usr/bin/env bash
# One node's part of a step that many nodes do, each by itself: in nodes/NODE, which sees what the stage folder holds, and
# in which its output and its exit status lie.
# It ends well whatever became of the part, so that nothing ends the others; unless it is told to end, as the part is then.
# usage: on_node.sh PART STDOUT STDERR
set -uo pipefail
# shellcheck source=/dev/null
. ./killable.sh
part=$1 stdout=$2 stderr=$3
own=nodes/$SLURMD_NODENAME
rm -rf "$own"
mkdir -p "$own" && cd "$own" || exit 0
ln -s ../../* .
rm -f nodes "$stdout" "$stderr"
# What srun says of this step is no wish for those that the part starts.
unset "${!SLURM_CPU_BIND@}" "${!SLURM_STEP@}" "${!SLURM_MEM_BIND@}" SLURM_DISTRIBUTION SLURM_NNODES SLURM_NPROCS \
    SLURM_NTASKS SLURM_NTASKS_PER_NODE SLURM_KILL_BAD_EXIT SLURM_NO_KILL
bash "$part" >"$stdout" 2>"$stderr" &
running=$!
trap 'trap "" TERM INT; end_script "$running"; wait "$running"; exit 143' TERM INT
wait "$running"
echo "$?" >exit_status
find . -maxdepth 1 -type l -delete
