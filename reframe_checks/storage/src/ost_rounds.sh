#!/usr/bin/env bash
# Usage: ost_rounds.sh FOLDER PASSES
# Asks Lustre for the object storage targets of FOLDER's file system and their servers. Plans the target of each node of
# the job in each round, in rounds.txt.
set -euo pipefail
lfs osts "$1" > osts.txt
# lctl is an administrator's program on some systems, but every user may read this parameter.
PATH=$PATH:/usr/sbin:/sbin lctl get_param 'osc.*.ost_conn_uuid' > connections.txt
mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
python3 ./ost_rounds.py osts.txt connections.txt "$2" "${nodes[@]}" > rounds.txt
