#!/usr/bin/env bash
# Usage, in a job script: . ./storage_folder.sh PATH
# Makes $folder, the job's folder on a storage target. Removes it when the job ends, fails, times out or is cancelled.
# A later job removes the folder of a job that was killed outright.
# A day is longer than the limit of any job here.
find "$1" -maxdepth 1 -name 'kappa.*' -user "$(id -u)" -mmin +1440 -exec rm -rf {} + || true
folder=$(mktemp -d "$1/kappa.XXXXXX")
trap 'rm -rf "$folder"' EXIT
# Handle the signal once: a second one must not stop the removal. hold_nodes.sh ends the script's current command.
trap 'trap "" TERM INT; exit 143' TERM INT
