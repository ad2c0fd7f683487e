#!/bin/bash
# What a node has, by itself: read by kappa/survey/probe.py. Run as `bash -s -- PROGRAM...`; needs no root, writes nothing.
# A section is a line `## NAME` and what follows; what is not there leaves its section empty.
export LC_ALL=C
section() { printf '## %s\n' "$1"; }
of() { printf '%s=' "$1"; cat "$2" 2>/dev/null || echo; }

section host
printf 'name=%s\n' "$(hostname)"
of boot_id /proc/sys/kernel/random/boot_id
printf 'kernel=%s\n' "$(uname -sr)"
# shellcheck disable=SC1091
(. /etc/os-release && printf 'os=%s %s\n' "$ID" "$VERSION_ID") 2>/dev/null
printf 'clock=%s\n' "$(date +%s)"
grep MemTotal /proc/meminfo
of base_khz /sys/devices/system/cpu/cpu0/cpufreq/base_frequency

section lscpu
lscpu 2>/dev/null | grep -E '^(Architecture|Vendor ID|Model name|BIOS Model name|CPU family|Model|Stepping|Thread|Core|Socket|NUMA node\(s\)|BogoMIPS|CPU max MHz|Hypervisor vendor|Flags)'

section cpus
lscpu -p=CPU,CORE,SOCKET,NODE 2>/dev/null | grep -v '^#'

section hwloc
# Of the whole node, whatever of it the job may use; version 1 has another word for that.
for whole in --disallowed --whole-system; do
  hwloc-calc "$whole" --number-of core machine:0 >/dev/null 2>&1 || continue
  for object in package numanode core pu l3cache; do
    printf '%s=%s\n' "$object" "$(hwloc-calc "$whole" --number-of "$object" machine:0 2>/dev/null)"
  done
  break
done

section gpus
command -v nvidia-smi >/dev/null 2>&1 && timeout 20 nvidia-smi --query-gpu=index,name,memory.total,compute_cap,mig.mode.current --format=csv,noheader,nounits 2>/dev/null

section migs
command -v nvidia-smi >/dev/null 2>&1 && timeout 20 nvidia-smi -L 2>/dev/null | grep -E '^ +MIG '

section amd_gpus
grep -l '^gfx_target_version [1-9]' /sys/class/kfd/kfd/topology/nodes/*/properties 2>/dev/null

section adapters
for port in /sys/class/infiniband/*/ports/*; do
  [ -e "$port/state" ] || continue
  device=${port%/ports/*}
  printf '%s:%s|%s|%s|%s\n' "${device##*/}" "${port##*/}" "$(cat "$port/state")" "$(cat "$port/rate")" "$(cat "$port/link_layer" 2>/dev/null)"
done

section interfaces
for interface in /sys/class/net/*; do
  printf '%s|%s|%s|%s\n' "${interface##*/}" "$(cat "$interface/operstate" 2>/dev/null)" "$(cat "$interface/speed" 2>/dev/null)" "$([ -e "$interface/device" ] && echo device || echo virtual)"
done

section mounts
cat /proc/self/mountinfo

section folders
user=$(id -un)
{
  printf '%s\n' "${SCRATCH:-}" "${WORK:-}" "${PROJECT:-}" "${HOME:-}" "${TMPDIR:-}"
  awk '$5 != "/" { print $5 }' /proc/self/mountinfo | while read -r point; do
    for below in "" "/$user" "/users/$user" "/home/$user" "/scratch/$user" "/kappa"; do
      printf '%s%s\n' "$point" "$below"
    done
  done
} | grep -Ev '^(/(proc|sys|dev|run|boot|etc|usr|var)(/|$)|$)' | sort -u | while read -r folder; do
  [ -d "$folder" ] && [ -w "$folder" ] && printf '%s|%s\n' "$(stat -c '%d:%i' "$folder")" "$folder"
done

section lustre
if command -v lfs >/dev/null 2>&1; then
  awk '{ for (i = 7; i < NF; i++) if ($i == "-" && $(i + 1) == "lustre") print $5 }' /proc/self/mountinfo | while read -r point; do
    printf '%s|%s|%s|%s\n' "$point" "$(timeout 10 lfs getstripe -d -c "$point" 2>/dev/null)" "$(timeout 10 lfs getstripe -d -S "$point" 2>/dev/null)" "$(timeout 10 lfs osts "$point" 2>/dev/null | grep -c ACTIVE)"
  done
fi

section limits
printf 'memlock=%s\n' "$(ulimit -l)"

section programs
for program in "$@"; do
  place=$(command -v "$program" 2>/dev/null) && printf '%s|%s\n' "$program" "$place"
done

section versions
for program in mpirun stress-ng cmake c++; do
  command -v "$program" >/dev/null 2>&1 && printf '%s|%s\n' "$program" "$(timeout 10 "$program" --version 2>&1 | head -1)"
done
# Cray's MPI has no mpirun; its module says which it is.
[ -n "${CRAY_MPICH_VERSION:-}" ] && printf 'mpirun|CRAY MPICH version %s\n' "$CRAY_MPICH_VERSION"
for header in nlohmann/json.hpp CLI/CLI.hpp Eigen/Dense; do
  printf '#include <%s>\n' "$header" | timeout 20 c++ -I/usr/include/eigen3 -x c++ -E - >/dev/null 2>&1 && printf 'header|%s\n' "$header"
done

section modules
type module >/dev/null 2>&1 && timeout 30 bash -c 'module -t avail' 2>&1 |
  grep -iE 'mpi|mvapich|hpcx|ucx|osu|hpl|hpcc|hpcg|fio|ior|gcc|cuda|nvhpc|oneapi|lammps|openfoam' | grep -v ':$' | head -200

section end
