#!/bin/bash
# First process of a node's namespaces: make private mounts and scratch space, then become the node's init.
# usage: node_init.sh NODE auto|ext4|tmpfs SCRATCH_BYTES
set -euo pipefail
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
# shellcheck source-path=SCRIPTDIR source=sysfs.sh
source "${BASH_SOURCE[0]%/*}/sysfs.sh"
node=$1
scratch_fs=$2
scratch_bytes=$3
image=/run/kappa/nodes/$node/scratch.img
# The file system of the first node, so that all nodes have the same. Kappa would name a node that differs.
chosen=/run/kappa/run/scratch_fs

# Mount ext4 on a loop device with direct I/O, so that the host's page cache does not replace the disk.
mount_ext4() {
  local device stale
  for stale in $(losetup --noheadings --output NAME --associated "$image"); do
    losetup --detach "$stale"
  done
  rm -f "$image"
  truncate --size "$scratch_bytes" "$image" &&
    mkfs.ext4 -q -F -m 0 -E lazy_itable_init=1,lazy_journal_init=1,nodiscard "$image" || return 1
  device=$(losetup --find --show --direct-io=on "$image") || return 1
  local status=0
  mount -t ext4 "$device" /scratch || status=1
  # After this, the kernel frees the device with its last user.
  losetup --detach "$device"
  return "$status"
}

hostname "$node"
mount -t proc proc /proc
mount_sysfs /run/stage
mount --move /run/stage /sys
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
mount -t tmpfs -o mode=755 tmpfs /run/munge
mount -t tmpfs -o mode=755 tmpfs /run/slurm
install -m 600 /run/kappa/munge.key /run/munge/munge.key

# Another cluster that starts or stops may take or free the loop device at the same time.
mount_ext4_patiently() {
  local attempt
  for attempt in 1 2 3 4 5; do
    if mount_ext4; then
      return 0
    fi
    echo "no ext4 file system on a loop device with direct I/O can be mounted on $node (attempt $attempt)"
    sleep 0.3
  done
  return 1
}

# The first node that writes the file decides.
choose() {
  (set -o noclobber && echo "$1" >"$chosen") 2>/dev/null || true
  scratch_fs=$(<"$chosen")
}

if [[ $scratch_fs == auto && -e $chosen ]]; then
  scratch_fs=$(<"$chosen")
fi
if [[ $scratch_fs != tmpfs ]]; then
  if mount_ext4_patiently; then
    choose ext4
    [[ $scratch_fs != tmpfs ]] || umount /scratch
  elif [[ $scratch_fs == ext4 ]]; then
    echo "error: $node has no /scratch"
    exit 1
  else
    choose tmpfs
    [[ $scratch_fs == tmpfs ]] || { echo "error: $node cannot have the ext4 that other nodes have on /scratch"; exit 1; }
  fi
fi
if [[ $scratch_fs == tmpfs ]]; then
  rm -f "$image"
  mount -t tmpfs -o "mode=1777,size=$scratch_bytes" tmpfs /scratch
fi
chmod 1777 /scratch
exec env -i PATH="$PATH" tini -- sleep infinity
