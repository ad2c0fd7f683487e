#!/bin/bash
# Queries of a node's GPUs: a part of gpu_inventory.sh and of the survey's probe (kappa/app/survey/probe.py).

_gpu_query() { timeout "$1" nvidia-smi "--query-gpu=$2" --format=csv,noheader,nounits; }

# _gpu_optional SECONDS FIELD TABLE: a column for the table.
_gpu_optional() {
  local name
  for name in ${2//|/ }; do
    _gpu_query "$1" "$name" 2>/dev/null && return
  done
  printf '%s\n' "$3" | sed 's/.*/[Not Supported]/'
}

# gpu_fields SECONDS FIELDS FIELD...: `VALUE, …` of each GPU. SECONDS: time limit of each query, 0 for none.
# Every driver knows FIELDS (separated by commas). Each FIELD has its own query, because an unknown field fails the
# query. `A|B` is B if the driver does not know A; `[Not Supported]` if it knows neither.
gpu_fields() {
  local table column field
  if table=$(_gpu_query "$1" "$2"); then
    for field in "${@:3}"; do
      column=$(_gpu_optional "$1" "$field" "$table" | grep -v 'is not a valid field')
      table=$(paste -d '|' <(printf '%s\n' "$table") <(printf '%s\n' "$column") | sed 's/|/, /')
    done
  fi
  printf '%s\n' "$table"
}
