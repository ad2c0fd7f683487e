#!/usr/bin/env bash
# Usage, in a script: . ./own_folder.sh
# Folders of Kappa on shared storage. Kappa marks a folder when it makes it. It removes only folders that carry the mark,
# and that only this user can write to.
MARK=.kappa-folder

# Marks the new folder $1. Fails if it is a link, or if another user owns it or can enter it.
mark_folder() {
    if [[ $(find "$1" -maxdepth 0 -user "$EUID" ! -perm /077 -printf %y) != d ]]; then
        echo "$1 is not a folder with the mode 0700 of user $EUID" >&2
        return 1
    fi
    (umask 077 && printf 'suite kappa\nuser %s\nhost %s\njob %s\n' "$EUID" "$(uname -n)" \
        "${SLURM_JOB_ID+"${SLURM_CLUSTER_NAME-}/$SLURM_JOB_ID"}" >"$1/$MARK") && return
    rm -f "$1/$MARK"
    rmdir "$1"
    return 1
}

is_marked() {
    [[ $(find "$1" "$1/$MARK" -maxdepth 0 -user "$EUID" ! -perm /022 -printf %y 2>/dev/null) == df ]] &&
        grep -qx 'suite kappa' "$1/$MARK"
}

# Removes the marked folder $1. The mark goes last: what an interrupted removal leaves can still be removed.
remove_folder() {
    is_marked "$1" || return
    # Processes that are being ended may still write.
    for _ in {1..50}; do
        find "$1" -mindepth 1 -maxdepth 1 ! -name "$MARK" -exec rm -rf {} + && rm -rf "$1" && return
        sleep 0.1
    done
    return 1
}

# Removes marked folders in $1 with names like $2 that have not changed for a day, which is longer than the limit of
# any job here, and whose job Slurm does not list.
remove_old_folders() {
    local old job
    while IFS= read -rd '' old; do
        is_marked "$old" || continue
        job=$(sed -n 's/^job //p' "$old/$MARK")
        if [[ -z $job ]] || has_ended "$job"; then remove_folder "$old"; fi
    done < <(find "$1/" -mindepth 1 -maxdepth 1 -type d -name "$2" -mmin +1440 -print0)
}

# Tells whether Slurm lists this job, but no longer the job $1 of the same cluster.
has_ended() {
    local jobs
    jobs=$(timeout 20 squeue --noheader --me --format=%A 2>/dev/null) || return
    [[ ${1%/*} == "${SLURM_CLUSTER_NAME-}" ]] && grep -qx "$SLURM_JOB_ID" <<<"$jobs" && ! grep -qx "${1##*/}" <<<"$jobs"
}
