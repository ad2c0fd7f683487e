#!/usr/bin/env bash
# Prints a line "NODE LEAF" with the leaf switch or block of each node. File $1: output of `scontrol show topology`.
# Prints nothing if Slurm has no topology.
set -euo pipefail
while read -r line; do
    # Upper switches and blocks of blocks repeat the nodes below them.
    if [[ $line == *Switches=* || $line == *AggregatedBlock=* ]]; then continue; fi
    if [[ $line =~ ^(SwitchName|BlockName)=([^[:space:]]+) ]]; then leaf=${BASH_REMATCH[2]}; else continue; fi
    if [[ $line =~ [[:space:]]Nodes=([^[:space:]]+) ]]; then
        scontrol show hostnames "${BASH_REMATCH[1]}" | sed "s|\$| $leaf|"
    fi
done < "$1"
