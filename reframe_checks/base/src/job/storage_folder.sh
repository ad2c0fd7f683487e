#!/usr/bin/env bash
# Usage, in a job script: . ./storage_folder.sh PATH
# Makes the job's own folder on a storage target: $folder, which is removed when the job ends, fails, times out or is
# cancelled. What a job that was killed outright has left there is removed by a later one.
# A day is longer than any job here may take.
find "$1" -maxdepth 1 -name 'kappa.*' -user "$(id -u)" -mmin +1440 -exec rm -rf {} + || true
folder=$(mktemp -d "$1/kappa.XXXXXX")
trap 'rm -rf "$folder"' EXIT
# Once: Slurm may send it again, and the removal shall not end of it. hold_nodes.sh ends what the script waits for.
trap 'trap "" TERM INT; exit 143' TERM INT
