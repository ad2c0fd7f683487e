#!/usr/bin/env bash
# Usage, as the first command of a job script: . ./hold_nodes.sh HOLD_S LIMIT_S STDOUT STDERR
# The script runs itself as a child, which measures. It then holds the nodes for up to HOLD_S seconds until ReFrame has
# judged the figures, and re-measures if they are out of bounds. If the child has started a watch (watch_nodes.sh), the
# watch ends with the child, or names the node that made the child fail.
# SLURM_KILL_BAD_EXIT: otherwise, ranks that wait for a crashed rank hold the nodes until the time limit.
export SLURM_KILL_BAD_EXIT=${SLURM_KILL_BAD_EXIT-1}
if [[ ${KAPPA_MEASURES-} == "$SLURM_JOB_ID" || -n ${SLURM_ARRAY_TASK_ID-} ]]; then return 0; fi
hold_s=$1 limit_s=$2 stdout=$3 stderr=$4
# shellcheck source=/dev/null
. "${BASH_SOURCE%/*}/killable.sh"
shell=("$BASH")
if shopt -q login_shell; then shell+=(-l); fi
measure() {
    KAPPA_MEASURES=$SLURM_JOB_ID "${shell[@]}" "$0" & measuring=$!
    status=0; wait "$measuring" || status=$?
    while kill -0 "$measuring" 2>/dev/null; do status=0; wait "$measuring" || status=$?; done
    measuring=''
    if ! { read -r watch < kappa_watch; } 2>/dev/null; then return 0; fi
    if [[ $status == 0 || $ended ]]; then kill -TERM "$watch" 2>/dev/null; else kill -USR1 "$watch" 2>/dev/null; fi
    while kill -0 "$watch" 2>/dev/null; do sleep 0.05; done
    rm -f kappa_watch
}
rm -rf kappa_measured kappa_answer kappa_watch kappa_ended first_measurement
ended='' said='' measuring=''
# Slurm ends a job by a signal to all of its processes, or to the script alone (`sbatch --signal=B:…`). The measurement
# then gets the signal, its current command is ended so that it can clean up, and the script ends last.
trap 'trap "" TERM INT; ended=yes; [[ -z $measuring ]] || end_script "$measuring"' TERM INT
measure
# A second measurement must fit into the time limit, which starts before the script.
if [[ $status == 0 && -z $ended ]] && (( hold_s > 0 && 5 * SECONDS / 2 + hold_s < limit_s )); then
    touch kappa_measured
    for (( i = 0; i < 10 * hold_s; i++ )); do
        : ./*  # reads the folder: a network file system remembers for long that a file is not there
        if [[ -s kappa_answer || $ended ]]; then break; fi
        sleep 0.1
    done
    (set -o noclobber; echo late > kappa_answer) 2>/dev/null || true
    { read -r said; mapfile -t files; } < kappa_answer || true
fi
if [[ $said == again && -z $ended ]]; then
    if mkdir first_measurement && mv -- "${files[@]}" first_measurement; then
        exec > "$stdout" 2> "$stderr"
        measure
    else
        mv -- first_measurement/* . || true
        rmdir first_measurement || true
    fi
fi
# If Slurm no longer lists the job, this file shows that the job ended, and how.
if [[ -z $ended ]]; then echo "$status" > kappa_ended || true; fi
exit "$status"
