#!/usr/bin/env bash
# Usage, in a job script whose environment is set up: . ./watch_nodes.sh EXPECTED_S PROGRAM LAUNCHER…
# Starts the watch (watch_nodes.py) in the background, with the environment of the job's programs, and waits until it is
# ready. hold_nodes.sh ends the watch. Without Python 3.6, this prints a message, and the job continues without a watch.
if [[ ${KAPPA_MEASURES-} == "$SLURM_JOB_ID" ]]; then
    rm -f hang.json kappa_watch
    if ! read -r -t 20 _ < <(KAPPA_WATCH=yes exec python3 -s ./watch_nodes.py "$$" "$@" 2> watch.err); then
        echo "watch_nodes.sh: the watch of this job did not start: $(tail -n 1 watch.err)" >&2
    fi
fi
