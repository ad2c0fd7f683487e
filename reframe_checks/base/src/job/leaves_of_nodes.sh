#!/usr/bin/env bash
# Says which leaf switch or block each node is on, a line "NODE LEAF" each, from what `scontrol show topology` printed into the
# file $1; nothing where Slurm knows no topology.
set -euo pipefail
while read -r line; do
    # Switches above others, and blocks of blocks, repeat the nodes of what is below them.
    if [[ $line == *Switches=* || $line == *AggregatedBlock=* ]]; then continue; fi
    if [[ $line =~ ^(SwitchName|BlockName)=([^[:space:]]+) ]]; then leaf=${BASH_REMATCH[2]}; else continue; fi
    if [[ $line =~ [[:space:]]Nodes=([^[:space:]]+) ]]; then
        scontrol show hostnames "${BASH_REMATCH[1]}" | sed "s|\$| $leaf|"
    fi
done < "$1"
