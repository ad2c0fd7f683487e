#!/usr/bin/env bash
# Usage, in a job script: . ./node_folder.sh PATH
# Makes $folder, the job's folder on each node's own storage, with the same path on all nodes. Removes it when the job
# ends, fails, times out or is cancelled. A later job removes the folder of a job that was killed outright.
# If a node cannot make it, for instance because another user has made it, the job ends: the measurement would write
# there. Then node_folder.txt has a line `NODE: REASON` for each such node.
# A step beside the measurement keeps the folder: a cancelled job cannot start a step that removes it.
own_folder=${BASH_SOURCE%/*}/own_folder.sh
# shellcheck source=/dev/null
. "$own_folder"
folder=$(mktemp --dry-run "$1/kappa.$SLURM_JOB_ID.XXXXXXXX") || exit
on_each_node() { srun --ntasks="$SLURM_JOB_NUM_NODES" --ntasks-per-node=1 --mpi=none "$@"; }
# shellcheck disable=SC2016  # the nodes' shells expand it
exec {kept}< <(KAPPA_WATCH=yes SLURM_OVERLAP=1 on_each_node --input=none bash -c '
    . "$3" || exit
    trap "remove_folder \"\$2\"; exit" TERM
    remove_old_folders "$1" "kappa.*.????????" || true
    if ! why=$({ mkdir -m 0700 "$2" && mark_folder "$2"; } 2>&1); then
        read -r why <<<"$why"
        echo "$SLURMD_NODENAME: $why"
        exit
    fi
    echo made
    while [[ -O $2/$MARK ]]; do sleep 1; done' bash "$1" "$folder" "$own_folder")
keeper=$!
# shellcheck disable=SC2016  # the nodes' shells expand it
trap 'on_each_node bash -c ". \"\$2\"; remove_folder \"\$1\" || true" bash "$folder" "$own_folder"; wait "$keeper"' EXIT
# As in storage_folder.sh.
trap 'trap "" TERM INT; exit 143' TERM INT
rm -f node_folder.txt
made=0
for ((node = 0; node < SLURM_JOB_NUM_NODES; node++)); do
    read -r answer <&"$kept" || break
    if [[ $answer == made ]]; then made=$((made + 1)); else echo "$answer" | tee -a node_folder.txt >&2; fi
done
if ((made < SLURM_JOB_NUM_NODES)); then
    echo "node_folder.sh: error: only $made of $SLURM_JOB_NUM_NODES nodes made $folder: check $1 there" >&2
    exit 1
fi
