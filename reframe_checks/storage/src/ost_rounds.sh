#!/usr/bin/env bash
# Usage: ost_rounds.sh FOLDER PASSES
# Asks Lustre which object storage targets FOLDER's file system has and on which servers, and plans which node of the job
# writes to which of them when, in rounds.txt.
set -euo pipefail
lfs osts "$1" > osts.txt
# An administrator's program on some systems, though everybody may read this parameter.
PATH=$PATH:/usr/sbin:/sbin lctl get_param 'osc.*.ost_conn_uuid' > connections.txt
mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
python3 ./ost_rounds.py osts.txt connections.txt "$2" "${nodes[@]}" > rounds.txt
