#!/usr/bin/env bash
# Usage, in a job script: . ./build_link_use.sh SOURCE FOLDER
# Builds the counter of link traffic, once for all jobs, and puts it beside this script: SimGrid loads it as a platform.
(
    mkdir -p "$2"
    exec 9> "$2/lock"
    flock 9
    if [[ ! "$2/link_use.so" -nt "$1/link_use.cpp" ]]; then
        if ! { cmake -S "$1" -B "$2" -DCMAKE_BUILD_TYPE=Release && cmake --build "$2"; } > "$2/cmake.txt" 2>&1; then
            cat "$2/cmake.txt" >&2
            exit 1
        fi
    fi
    ln -sf "$2/link_use.so" link_use.so
)
