#!/usr/bin/env bash
# Runs one node's part of a step in which each node works alone. The part runs in nodes/NODE, which links to the files
# of the stage folder and gets the part's output and exit status.
# Succeeds even if the part fails, so that Slurm does not end the other parts. A signal ends the part and this script.
# usage: on_node.sh PART STDOUT STDERR
set -uo pipefail
# shellcheck source=/dev/null
. "${BASH_SOURCE%/*}/killable.sh"
part=$1 stdout=$2 stderr=$3
own=nodes/$SLURMD_NODENAME
rm -rf "$own"
mkdir -p "$own" && cd "$own" || exit 0
ln -s ../../* .
rm -f nodes "$stdout" "$stderr"
# srun's options of this step must not apply to steps that the part starts.
unset "${!SLURM_CPU_BIND@}" "${!SLURM_STEP@}" "${!SLURM_MEM_BIND@}" SLURM_DISTRIBUTION SLURM_NNODES SLURM_NPROCS \
    SLURM_NTASKS SLURM_NTASKS_PER_NODE SLURM_KILL_BAD_EXIT SLURM_NO_KILL
bash "$part" >"$stdout" 2>"$stderr" &
running=$!
trap 'trap "" TERM INT; end_script "$running"; wait "$running"; exit 143' TERM INT
wait "$running"
echo "$?" >exit_status
find . -maxdepth 1 -type l -delete
