#!/bin/bash
# Lists the GPUs of a node, `HOST, VALUE, …` each: gpu_inventory.sh FIELDS FIELD...
# FIELDS, with commas, every driver knows; each FIELD is asked apart, because one that a driver does not know fails its
# query. `A|B` is B where the driver does not know A, and `[Not Supported]` stands where it knows none.
set -u
export LC_ALL=C
ask() { nvidia-smi "--query-gpu=$1" --format=csv,noheader,nounits; }
optional() {
  local name
  for name in ${1//|/ }; do
    ask "$name" 2>/dev/null && return
  done
  printf '%s\n' "$table" | sed 's/.*/[Not Supported]/'
}

if table=$(ask "$1"); then
  for field in "${@:2}"; do
    column=$(optional "$field" | grep -v 'is not a valid field')
    table=$(paste -d '|' <(printf '%s\n' "$table") <(printf '%s\n' "$column") | sed 's/|/, /')
  done
fi
printf '%s\n' "$table" | sed "s/^/$(uname -n), /"
