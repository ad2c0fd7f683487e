#!/usr/bin/env bash
# Usage: prepare_cases.sh NAME... - makes of the folder cavity a case NAME with the sizes in NAME.size: its mesh, and a
# part for each rank. What OpenFOAM says is in NAME.prepared.log.
set -euo pipefail
for name; do
    rm -rf "$name"
    cp -r cavity "$name"
    cp "$name.size" "$name/size"
    blockMesh -case "$name" > "$name.prepared.log" 2>&1
    # One rank runs the case as it is.
    grep -q '^ranks 1;' "$name/size" || decomposePar -case "$name" >> "$name.prepared.log" 2>&1
done
