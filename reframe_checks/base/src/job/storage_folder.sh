#!/usr/bin/env bash
# Usage, in a job script: . ./storage_folder.sh PATH
# Makes $folder, the job's folder on a storage target. Removes it when the job ends, fails, times out or is cancelled.
# A later job removes the folder of a job that was killed outright.
# shellcheck source=/dev/null
. "${BASH_SOURCE%/*}/own_folder.sh"
remove_old_folders "$1" 'kappa.*.????????' || true
if ! folder=$(mktemp -d "$1/kappa.$SLURM_JOB_ID.XXXXXXXX") || ! mark_folder "$folder"; then
    echo "storage_folder.sh: error: the job can make no folder of its own in $1: check its permissions and free space" >&2
    exit 1
fi
trap 'remove_folder "$folder"' EXIT
# Handle the signal once: a second one must not stop the removal. hold_nodes.sh ends the script's current command.
trap 'trap "" TERM INT; exit 143' TERM INT
