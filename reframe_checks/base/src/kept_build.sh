#!/usr/bin/env bash
# usage: kept_build.sh SOURCE FOLDER PROGRAM[,PROGRAM...] [OPTION OF CMAKE...]
# Builds programs of a CMake project in FOLDER. Takes them from KAPPA_BUILDS if an earlier build had the same sources,
# compiler, libraries and flags, whichever checkout made it, and only this user or root could write its programs.
#   KAPPA_BUILDS      folder of kept builds (default: kappa/builds in the user's cache)
#   KAPPA_BUILDS_MIB  limit of the size of this user's builds (default: 2048); the least recently used are removed first
#   KAPPA_BUILD_JOBS  compilers at once (default: one per core, at most 8: login nodes are shared)
set -euo pipefail
# shellcheck source=/dev/null
. "$(dirname "$0")/job/own_folder.sh"

source=$(realpath "$1") programs=$3
mkdir -p "$2"
folder=$(realpath "$2")
shift 3
options=("$@")
checkout=$(realpath "$(dirname "$0")/../../..")
store=${KAPPA_BUILDS:-${XDG_CACHE_HOME:-${HOME:-$folder}/.cache}/kappa/builds}
cores=$(nproc)
jobs=${KAPPA_BUILD_JOBS:-$((cores < 8 ? cores : 8))}
IFS=, read -ra targets <<<"$programs"

# Partitions and tests share a folder.
exec 9>"$folder/lock"
flock 9

# Content of all files of this repository that a compiler may read: a project reads its own folder only.
sources() {
    (cd "$source" && find -L . -type f ! -name '*.md' ! -name '*.py' ! -name '*.json' -print0 | sort -z | xargs -0 sha256sum)
}
# Compilers, flags, and the libraries that CMake found, with their sizes and times: a package may be updated in place.
settings() {
    printf '%s\n' "$(uname -m)" "${options[@]}" "${CC-}" "${CXX-}" "${CFLAGS-}" "${CXXFLAGS-}" "${LDFLAGS-}"
    cat "$folder"/CMakeFiles/*/CMakeC*Compiler.cmake
    local cache
    cache=$(grep -v '^[#/]' "$folder/CMakeCache.txt" | grep -v '^$')
    sed "s|$folder|FOLDER|g; s|$checkout|CHECKOUT|g" <<<"$cache"
    sed -n 's/^[^=]*:\(FILEPATH\|STRING\|PATH\)=\(\/.*\)$/\2/p' <<<"$cache" | tr ';' '\n' | sort -u |
        while read -r path; do
            if [[ $path != "$folder"* && $path != "$checkout"* && -f $path ]]; then
                stat -L --printf='%n %s %Y\n' "$path"
            fi
        done
}
contents() { sources; settings; }
key_of_build() { contents | sha256sum | cut -c1-64; }

missed() { awk '!/^CMAKE_/ && /-NOTFOUND$/ { found = 1 } END { exit !found }' "$folder/CMakeCache.txt"; }

built() {
    local target
    for target in "${targets[@]}"; do
        [[ -f $1/$target ]] || return 1
    done
}

last=$(cat "$folder/key" 2>/dev/null || true)
rm -f "$folder/key"
# Configure again if CMake missed something: it may be installed by now.
if [[ -z $last || $last != "$(key_of_build)" ]] || missed; then
    cmake -S "$source" -B "$folder" "${options[@]}"
fi
key=$(key_of_build)
kept=$store/${targets[0]##*/}-$key
if [[ $last == "$key" ]] && built "$folder"; then
    touch -c "$kept"
    echo "$key" >"$folder/key"
    exit 0
fi
# Copies standard input, a kept program, to $1, if only this user or root could have written it. Looks at the open file:
# others may exchange files in the folder meanwhile.
take() {
    [[ $(find -L /dev/stdin -maxdepth 0 -type f \( -user "$EUID" -o -user 0 \) ! -perm /022) ]] && cp /dev/stdin "$1"
}
take_all() {
    local target
    for target in "${targets[@]}"; do
        mkdir -p "$(dirname "$folder/$target")"
        take "$folder/$target.new" <"$kept/$target" || return
    done
    # A job may be running the existing program.
    for target in "${targets[@]}"; do mv "$folder/$target.new" "$folder/$target"; done
}
if built "$kept"; then
    if take_all; then
        touch -c "$kept" 2>/dev/null || true  # root's
        echo "$key" >"$folder/key"
        echo "taken from $kept"
        exit 0
    fi
    echo "kept_build.sh: $kept is not used: others than this user and root could write it; remove it" >&2
fi

# Make compares times. Changed files of a package or copy may be older than the objects here; then a wrong program
# would be kept under this key. `made_of` lists the sources and settings of the objects.
outdated() {
    local name path
    [[ -f $folder/made_of ]] || return 0
    while read -r _ name; do
        path=$source/$name
        [[ -f $path && $path -nt $folder/made_of ]] || return 0
    done < <(comm -13 <(sort "$folder/made_of") <(contents | sort))
    return 1
}
anew=()
if outdated; then anew=(--clean-first); fi
contents >"$folder/made_of.new"
rm -f "$folder/made_of"
# A program copied from the cache may be newer than the objects.
for target in "${targets[@]}"; do rm -f "$folder/$target"; done
cmake --build "$folder" --parallel "$jobs" "${anew[@]}" --target "${targets[@]##*/}"
mv "$folder/made_of.new" "$folder/made_of"
touch "$folder/made_of"
echo "$key" >"$folder/key"

# This user's other builds, the least recently used first.
other_builds() {
    find "$store" -mindepth 1 -maxdepth 1 -regextype posix-extended -regex '.*/[[:alnum:]_.+-]+-[0-9a-f]{64}' \
        ! -path "$kept" -printf '%T@ %p\n' | sort -n | while read -r _ build; do
        if is_marked "$build"; then echo "$build"; fi
    done
}
# If the cache cannot be written, only the next checkout pays, with a build of its own.
keep() {
    local new size build builds limit=$((${KAPPA_BUILDS_MIB:-2048} * 1024))
    mkdir -p "$store" && new=$(mktemp -d "$store/.new-XXXXXX") && mark_folder "$new" || return
    # Another request of the same build may have kept other programs.
    if ! (umask 022 && cd "$folder" && cp --parents "${targets[@]}" "$new") ||
        ! { mv -T "$new" "$kept" 2>/dev/null || { is_marked "$kept" && cp -r "$new/." "$kept" && rm -rf "$new"; }; }; then
        rm -rf "$new"
        return 1
    fi
    remove_old_folders "$store" '.new-??????'
    mapfile -t builds < <(other_builds)
    for build in "${builds[@]}"; do
        size=$(du -skc "$kept" "${builds[@]}" | tail -n 1 | cut -f 1)
        ((size > limit)) || break
        remove_folder "$build" || true
        builds=("${builds[@]:1}")
    done
}
keep || echo "kept_build.sh: cannot write to $store, so other checkouts cannot use this build" >&2
