#!/usr/bin/env bash
# Usage, in a script: . ./killable.sh
# Bash keeps a signal until the program in its foreground has ended. Slurm kills both after KillWait seconds, and files stay.
# `killable COMMAND…` runs COMMAND so that TERM or INT ends it, with all that it started. Then the script exits with 143, and
# its EXIT trap removes files that nothing writes any more.

killable() {
    local status=0
    KAPPA_KILLABLE=$$ "$@" <&0 & wait "$!" || status=$?
    return "$status"
}

# Sends TERM to the script of process $1, and ends what it waits for, by KILL after a second: then it runs its traps.
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

# A process group would not do: fio's processes are in sessions of their own. They are found by their parents, and by
# KAPPA_KILLABLE, as a parent may have ended of the same signal. A job's watch and the keepers of its folders (KAPPA_WATCH)
# end by themselves.
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

# Once: Slurm may send it again, and what removes files shall not end of it.
trap 'trap "" TERM INT; end_script "$$"; exit 143' TERM INT
