#!/bin/bash
# Start a light node: its own host name, /dev/shm and /scratch, then its slurmd, which goes into the background.
# usage: light_node.sh SCRATCH_BYTES NODE
set -euo pipefail
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
scratch_bytes=$1
node=$2
exec >"/run/kappa/log/init-$node.log" 2>&1
hostname "$node"
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
mount -t tmpfs -o "mode=1777,size=$scratch_bytes" tmpfs /scratch
exec env -i PATH="$PATH" LANG=C.UTF-8 HOME=/root slurmd -b -N "$node"
