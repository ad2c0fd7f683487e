#!/usr/bin/env bash
# Usage, in a job script: . ./node_folder.sh PATH
# Makes $folder, the job's folder on each node's own storage, with the same path on all nodes. Removes it when the job
# ends, fails, times out or is cancelled. A later job removes the folder of a job that was killed outright.
# A step beside the measurement keeps the folder: a cancelled job cannot start a step that removes it.
folder=$1/kappa.$SLURM_JOB_ID
on_each_node() { srun --ntasks="$SLURM_JOB_NUM_NODES" --ntasks-per-node=1 --mpi=none "$@"; }
# A day is longer than the limit of any job here. If a node cannot make the folder, the measurement fails there.
# shellcheck disable=SC2016  # the nodes' shells expand it
exec {kept}< <(KAPPA_WATCH=yes SLURM_OVERLAP=1 on_each_node --input=none bash -c '
    trap "for _ in {1..50}; do rm -rf \"\$2\" && exit; sleep 0.1; done; exit 1" TERM
    find "$1" -maxdepth 1 -name "kappa.*" -user "$(id -u)" -mmin +1440 -exec rm -rf {} + || true
    mkdir "$2"
    echo made
    while [[ -d $2 ]]; do sleep 1; done' bash "$1" "$folder")
keeper=$!
trap 'on_each_node rm -rf "$folder"; wait "$keeper"' EXIT
# As in storage_folder.sh.
trap 'trap "" TERM INT; exit 143' TERM INT
for ((node = 0; node < SLURM_JOB_NUM_NODES; node++)); do read -r _ <&"$kept" || break; done
