#!/usr/bin/env bash
# Usage, in a job script whose environment is set up: . ./watch_nodes.sh EXPECTED_S PROGRAM LAUNCHER…
# Starts the watch (kappa-node watch) in the background, with the environment of the job's programs, and waits until it
# is ready. hold_nodes.sh ends the watch. If it does not start, as without Python 3.6, this prints a message, writes to
# kappa_pythons the nodes on which kappa-node starts, and the job continues without a watch.
if [[ ${KAPPA_MEASURES-} == "$SLURM_JOB_ID" ]]; then
    rm -f hang.json kappa_watch kappa_pythons
    if ! read -r -t 20 _ < <(KAPPA_WATCH=yes exec sh "${BASH_SOURCE%/*}/kappa-node" watch "$$" "$@" 2> watch.err); then
        echo "watch_nodes.sh: the watch of this job did not start: $(tail -n 1 watch.err)" >&2
        # shellcheck disable=SC2016  # the nodes' shells expand it
        env -u SLURM_TASK_PROLOG timeout 20 srun --overlap --mpi=none --nodes="$SLURM_NNODES" --ntasks-per-node=1 \
            --ntasks="$SLURM_NNODES" --input=none --quiet --kill-on-bad-exit=0 \
            sh -c 'sh "$0" -h > /dev/null && printenv SLURMD_NODENAME' "${BASH_SOURCE%/*}/kappa-node" \
            > kappa_pythons 2>> watch.err || true
    fi
fi
