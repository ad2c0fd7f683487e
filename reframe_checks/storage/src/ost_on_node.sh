#!/usr/bin/env bash
# Usage: ost_on_node.sh ROUND FOLDER OPTION…
# Has fio write and read a file on the one object storage target that rounds.txt gives this node in ROUND, and says on which
# the file was. What fails is read from what is missing then: the other targets are still measured.
set -euo pipefail
# shellcheck source=/dev/null
. ./killable.sh
round=$1 folder=$2
shift 2
node=${SLURMD_NODENAME:-$(hostname -s)}
index=$(awk -v round="$round" -v node="$node" '$1 == round && $2 == node { print $3 }' rounds.txt)
[[ -n $index ]] || exit 0
place=$folder/ost-$index result=ost-$index-$round
file=$place/$round
trap 'rm -f "$file"' EXIT
# The folder's layout, not the file's: fio removes what is there before it writes.
measure() {
    mkdir -p "$place" &&
        lfs setstripe --stripe-count 1 --stripe-index "$index" "$place" &&
        fio --filename="$file" --output="$result.json" "$@" &&
        lfs getstripe --stripe-index "$file" > "$result.index"
}
killable measure "$@" 2> "$result.err" || true
