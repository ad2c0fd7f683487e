#!/bin/bash
# Sourced by the two init scripts. A sysfs shows the network devices of the namespace that mounts it.

# mount_sysfs TARGET: mount a sysfs of this network namespace on TARGET, with the file systems below the current /sys.
# If the kernel refuses a new sysfs, bind the current /sys.
mount_sysfs() {
  local target=$1 submount
  if ! mount -t sysfs -o nosuid,nodev,noexec sysfs "$target" 2>/dev/null; then
    mount --rbind /sys "$target"
    return
  fi
  for submount in fs/cgroup fs/bpf kernel/debug kernel/tracing; do
    if mountpoint -q "/sys/$submount"; then
      mount --rbind "/sys/$submount" "$target/$submount" || true
    fi
  done
}
