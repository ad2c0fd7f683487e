#!/usr/bin/env bash
# Usage: stress_on_node.sh STRESSORS SECONDS MIB
# Runs stress-ng's STRESSORS (a,b,c) at once, each on every core that this task may use, and verifies their results.
# Prints one line: exit status, number and names of the stressors that did an operation. Output: stress-ng-NODE.log.
set -euo pipefail
# shellcheck source=/dev/null
. "${BASH_SOURCE%/*}/killable.sh"
node=${SLURMD_NODENAME:-$(uname -n)}
log=stress-ng-$node.log
options=()
for stressor in ${1//,/ }; do options+=("--$stressor" "$(nproc)"); done
status=0
# A folder on the node for the files of some stressors.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
killable stress-ng "${options[@]}" --verify --timeout "$2s" --vm-bytes "$3M" --metrics-brief --temp-path "$work" \
    > "$log" 2>&1 || status=$?
mapfile -t worked < <(awk '$1 == "stress-ng:" && $2 == "metrc:" && $5 ~ /^[1-9][0-9]*$/ && !seen[$4]++ {print $4}' "$log")
echo "@stress-ng $node $status ${#worked[@]} ${worked[*]}"
