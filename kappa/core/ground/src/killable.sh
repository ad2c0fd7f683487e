#!/usr/bin/env bash
# Usage, in a script: . ./killable.sh
# Bash handles a signal only after its foreground program has ended. Slurm kills both after KillWait seconds, and files stay.
# `killable COMMAND…` runs COMMAND so that TERM or INT ends it and all processes that it started. Then the script exits with
# 143, and its EXIT trap removes files that no process writes any more.

killable() {
    local status=0
    KAPPA_KILLABLE=$$ "$@" <&0 & wait "$!" || status=$?
    return "$status"
}

# Sends TERM to the script of process $1 and to the processes it waits for, and KILL to these after a second. Then the
# script runs its traps.
end_script() {
    local waited_for
    mapfile -t waited_for < <(processes_of "$1" | cut -d / -f 3)
    kill -TERM "$1" "${waited_for[@]}" 2>/dev/null || true
    for _ in {1..10}; do
        if ! { [[ ${#waited_for[@]} != 0 ]] && kill -0 "${waited_for[@]}" 2>/dev/null; }; then return 0; fi
        sleep 0.1
    done
    kill -KILL "${waited_for[@]}" 2>/dev/null || true
}

# A process group is not enough: fio's processes have their own sessions. This function finds them by their parents, and by
# KAPPA_KILLABLE, because the same signal may have ended a parent. A job's watch and the keepers of its folders (KAPPA_WATCH)
# end without help.
processes_of() {
    cat /proc/[0-9]*/stat 2>/dev/null | awk -v top="$1" '
        { process = $1; sub(/.*\) /, ""); children[$2] = children[$2] " " process }
        function tell(above, found, number, i) {
            number = split(children[above], found, " ")
            for (i = 1; i <= number; i++) { print "/proc/" found[i] "/environ"; tell(found[i]) }
        }
        END { tell(top) }' | xargs -r grep -sLzx KAPPA_WATCH=yes || true
    grep -slzx "KAPPA_KILLABLE=$1" /proc/[0-9]*/environ || true
}

# Only once: Slurm may send the signal again, and it must not end the removal of files.
trap 'trap "" TERM INT; end_script "$$"; exit 143' TERM INT
