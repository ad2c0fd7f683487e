#!/usr/bin/env bash
# Usage: prepare_cases.sh NAME... - makes a case NAME from the folder cavity and the sizes in NAME.size: mesh and a part
# for each rank. NAME.prepared.log has OpenFOAM's output.
set -euo pipefail
for name; do
    rm -rf "$name"
    cp -r cavity "$name"
    cp "$name.size" "$name/size"
    blockMesh -case "$name" > "$name.prepared.log" 2>&1
    # One rank runs the undivided case.
    grep -q '^ranks 1;' "$name/size" || decomposePar -case "$name" >> "$name.prepared.log" 2>&1
done
