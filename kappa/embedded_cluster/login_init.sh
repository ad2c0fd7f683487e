#!/bin/bash
# First process of the outer ("login") namespace: make the private root, then become its init.
# usage: login_init.sh STATE_DIR LOGIN_ADDRESS/PREFIX
# The host's root does not change: the root here is a tmpfs with bind mounts of the host's entries.
set -euo pipefail
shopt -s nullglob dotglob
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
# shellcheck source-path=SCRIPTDIR source=sysfs.sh
source "${BASH_SOURCE[0]%/*}/sysfs.sh"
state=$1
address=$2
root=$state/root

# mirror SOURCE TARGET NAME...: bind every entry of SOURCE into TARGET, except the given names.
mirror() {
  local source=${1%/} target=$2 entry name skip
  shift 2
  for entry in "$source"/*; do
    name=${entry##*/}
    for skip in "$@"; do
      if [[ $name == "$skip" ]]; then continue 2; fi
    done
    if [[ -L $entry ]]; then
      cp -P "$entry" "$target/$name"
    elif [[ -d $entry ]]; then
      mkdir "$target/$name"
      mount --rbind "$entry" "$target/$name" || echo "warning: $entry is not visible in the cluster"
    elif [[ -e $entry ]]; then
      : >"$target/$name"
      mount --bind "$entry" "$target/$name" || echo "warning: $entry is not visible in the cluster"
    fi
  done
}

mount -t tmpfs -o mode=755 tmpfs "$root"
# The state folder is bound below this root. Without this, the binds would nest.
mount --make-unbindable "$root"
mirror / "$root" proc sys run scratch shared
mkdir "$root"/{.host,proc,sys,run,scratch,shared}
mount -t proc proc "$root/proc"
mount_sysfs "$root/sys"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
# Without /run/mount: mount(8) keeps its table there, and the cluster has other mounts than the host.
mirror /run "$root/run" kappa mount munge mysqld slurm stage
mkdir "$root"/run/{kappa,mount,munge,slurm,stage}
mkdir -m 700 "$root/run/mysqld"
mount --bind "$state" "$root/run/kappa"
mount --bind "$state/shared" "$root/shared"
mount --bind "$state/etc/slurm" "$root/etc/slurm"
mount --bind "$state/etc/hosts" "$root/etc/hosts"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"

cd "$root"
pivot_root . .host
cd /
umount --lazy /.host
rmdir /.host
mount --make-rprivate /

install -m 600 /run/kappa/munge.key /run/munge/munge.key
hostname login
ip -batch - <<END
link set lo up
link add spine type bridge
address add $address dev spine
link set spine up
END
ip -batch /run/kappa/etc/switches
exec env -i PATH="$PATH" tini -- sleep infinity
