#!/usr/bin/env bash
# Usage: ost_on_node.sh ROUND FOLDER OPTION…
# Runs fio on a file on the object storage target of this node in ROUND (rounds.txt), and records the file's target.
# Always succeeds, so that the other targets are still measured: missing files show the failures.
set -euo pipefail
# shellcheck source=/dev/null
. "${BASH_SOURCE%/*}/killable.sh"
round=$1 folder=$2
shift 2
node=${SLURMD_NODENAME:-$(hostname -s)}
index=$(awk -v round="$round" -v node="$node" '$1 == round && $2 == node { print $3 }' rounds.txt)
[[ -n $index ]] || exit 0
place=$folder/ost-$index result=ost-$index-$round
file=$place/$round
trap 'rm -f "$file"' EXIT
# Set the folder's layout, not the file's: fio removes an existing file before it writes.
measure() {
    mkdir -p "$place" &&
        lfs setstripe --stripe-count 1 --stripe-index "$index" "$place" &&
        fio --filename="$file" --output="$result.json" "$@" &&
        lfs getstripe --stripe-index "$file" > "$result.index"
}
killable measure "$@" 2> "$result.err" || true
