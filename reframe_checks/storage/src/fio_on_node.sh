#!/usr/bin/env bash
# Usage: fio_on_node.sh FILE OPTION…
# Runs fio on FILE, which is on this node only, and removes it: a job that is cancelled can start no step that would.
set -euo pipefail
file=$1
shift
trap 'rm -f "$file"' EXIT
trap 'exit 143' TERM INT
fio --filename="$file" "$@"
