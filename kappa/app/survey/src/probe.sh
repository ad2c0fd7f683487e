#!/bin/bash
# Print what a node has; kappa/app/survey/probe.py reads it. Run as `bash -s -- PROGRAM...`. Needs no root, writes nothing.
# probe.py puts two functions before this script: gpu_fields (reframe_checks/node/src/gpu_fields.sh), and node_probe, which
# runs reframe_checks/node/src/node_probe.py.
# A section is a line `## NAME` and the lines after it. If something is missing, its section is empty.
export LC_ALL=C
section() { printf '## %s\n' "$1"; }

section facts
node_probe --survey "${@/#/--program=}" 2>&1 || echo "node_probe failed on $(hostname)"

section lscpu
lscpu 2>/dev/null | grep -E '^(Architecture|Vendor ID|Model name|BIOS Model name|CPU family|Model|Stepping|Thread|Core|Socket|NUMA node\(s\)|BogoMIPS|CPU max MHz|Hypervisor vendor|Flags)'

section cpus
lscpu -p=CPU,CORE,SOCKET,NODE 2>/dev/null | grep -v '^#'

section hwloc
# Count the whole node, not only what the job may use. Version 1 of hwloc has another option for that.
for whole in --disallowed --whole-system; do
  hwloc-calc "$whole" --number-of core machine:0 >/dev/null 2>&1 || continue
  for object in package numanode core pu l3cache; do
    printf '%s=%s\n' "$object" "$(hwloc-calc "$whole" --number-of "$object" machine:0 2>/dev/null)"
  done
  break
done

section gpus
command -v nvidia-smi >/dev/null 2>&1 && gpu_fields 20 index,name,memory.total compute_cap mig.mode.current 2>/dev/null

section migs
command -v nvidia-smi >/dev/null 2>&1 && timeout 20 nvidia-smi -L 2>/dev/null | grep -E '^ +MIG '

section amd_gpus
grep -l '^gfx_target_version [1-9]' /sys/class/kfd/kfd/topology/nodes/*/properties 2>/dev/null

section folders
user=$(id -un)
# A file system whose server is down blocks every access.
answers() { timeout -k 1 5 stat -- "$1" >/dev/null 2>&1 </dev/null; }
{
  for folder in "${SCRATCH:-}" "${WORK:-}" "${PROJECT:-}" "${HOME:-}" "${TMPDIR:-}"; do
    [ -n "$folder" ] && answers "$folder" && printf '%s\n' "$folder"
  done
  awk '$5 != "/" { print $5 }' /proc/self/mountinfo | while read -r point; do
    answers "$point" || continue
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
    printf '%s|%s|%s\n' "$point" "$(timeout 10 lfs getstripe -d -c "$point" 2>/dev/null)" "$(timeout 10 lfs getstripe -d -S "$point" 2>/dev/null)"
    timeout 10 lfs osts "$point" 2>/dev/null | sed "s|^|$point\|OST |"
  done
fi

section disks
# NAME|MAJOR:MINOR|SECTORS|ROTATIONAL|REMOVABLE|BUSY|CONTENT|MODEL, each disk and its partitions as DISK/PARTITION. A
# sector has 512 bytes for every disk. BUSY: it is part of LVM or RAID, or swap space.
for disk in /sys/block/*; do
  case ${disk##*/} in loop* | ram* | zram* | dm-*) continue ;; esac
  case $(cat "$disk/size" "$disk/hidden" 2>/dev/null | tr '\n' ' ') in "" | "0 "* | *" 1 ") continue ;; esac
  for device in "$disk" "$disk"/*; do
    [ "$device" = "$disk" ] || [ -e "$device/partition" ] || continue
    number=$(cat "$device/dev")
    busy=
    { [ -n "$(ls "$device/holders")" ] || grep -q "^/dev/${device##*/} " /proc/swaps; } 2>/dev/null && busy=yes
    content=$(sed -n 's/^E:ID_FS_TYPE=//p' "/run/udev/data/b$number" 2>/dev/null)
    printf '%s|%s|%s|%s|%s|%s|%s|%s\n' "${device#/sys/block/}" "$number" "$(cat "$device/size")" \
      "$(cat "$device/queue/rotational" 2>/dev/null)" "$(cat "$device/removable" 2>/dev/null)" "$busy" "$content" \
      "$(cat "$device/device/model" 2>/dev/null)"
  done
done | head -256

section versions
for program in mpirun stress-ng cmake c++; do
  command -v "$program" >/dev/null 2>&1 && printf '%s|%s\n' "$program" "$(timeout 10 "$program" --version 2>&1 | head -1)"
done
# Cray's MPI has no mpirun. Its module sets the version.
[ -n "${CRAY_MPICH_VERSION:-}" ] && printf 'mpirun|CRAY MPICH version %s\n' "$CRAY_MPICH_VERSION"
for header in nlohmann/json.hpp CLI/CLI.hpp Eigen/Dense; do
  printf '#include <%s>\n' "$header" | timeout 20 c++ -I/usr/include/eigen3 -x c++ -E - >/dev/null 2>&1 && printf 'header|%s\n' "$header"
done

section mpi
# MPI libraries in the usual places, as SOURCE|VERSION|PLACE; `path` is the mpirun on PATH, for comparison.
# shellcheck disable=SC2317  # a second shell calls these functions, so that a timeout can end them
mpi_version() {
  local place=$1 file program said
  for file in "$place/include/mpi.h" "/usr/include/${place##*/}-$(uname -m)/mpi.h"; do
    [ -r "$file" ] || continue
    said=$(awk '$1 == "#define" && $2 ~ /^((OMPI_(MAJOR|MINOR|RELEASE)|I_MPI|MPICH|MVAPICH2?|CRAY_MPICH)_VERSION)$/ {
      gsub(/"/, "", $3); printf "%s=%s ", $2, $3 }' "$file")
    [ -n "$said" ] && printf '%s' "$said" && return
  done
  case $place in
    *.so.*)
      [[ ${place##*/} == libmpich* ]] && file=mpich.pc || file=ompi.pc
      grep -hE '^(Name|Version):' "${place%/*}/pkgconfig/$file" | tr '\n' ' '
      return
      ;;
  esac
  for program in "$place" "$place"/bin/{ompi_info,mpichversion,mpirun}; do
    if [ -f "$program" ] && [ -x "$program" ]; then
      timeout -k 1 5 "$program" --version 2>&1 | head -2 | tr '\n|' '  '
      return
    fi
  done
}
# shellcheck disable=SC2317
mpi_at() {
  [[ $2 == *$'\n'* ]] || printf '%s|%s|%s\n' "$1" "$(mpi_version "$2")" "$2"
}
# shellcheck disable=SC2317
mpi_libraries() {
  local place file
  shopt -s nullglob
  place=$(command -v mpirun) && mpi_at path "$(readlink -f "$place")"
  update-alternatives --list mpirun | while read -r place; do
    [[ $place == /* ]] && [ -x "$place" ] && mpi_at alternatives "$place"
  done
  PATH=$PATH:/sbin:/usr/sbin ldconfig -p | sed -nE 's/^\s*libmpi(ch)?\.so\.[0-9]+ .* => //p' | while read -r place; do
    mpi_at ldconfig "$(readlink -f "$place")"
  done
  for place in /usr/lib64/{openmpi,mpich,mvapich}* /usr/lib/*-linux-gnu/{openmpi,mpich} /usr/lib64/mpi/gcc/* \
    /usr/mpi/*/* /usr/local /opt/{openmpi,mpich,mvapich}* /opt/{openmpi,mpich,mvapich}*/* /opt/*/mpi \
    /opt/intel/oneapi/mpi/[0-9]* /opt/intel/impi/[0-9]* /opt/cray/pe/mpich/[0-9]* /opt/hpcx*/ompi \
    /opt/amazon/openmpi* /opt/nvidia/hpc_sdk/Linux_*/[0-9]*/comm_libs/mpi; do
    for file in "$place"/bin/mpi{cc,run,exec} "$place"/lib*/libmpi{,ch}.so* "$place"/{ofi,ucx}/*/*/lib/libmpi*.so; do
      [ -e "$file" ] && mpi_at folder "$place" && break
    done
  done
}
export -f mpi_version mpi_at mpi_libraries
timeout -k 2 20 bash -c mpi_libraries 2>/dev/null </dev/null | head -100

section modules
type module >/dev/null 2>&1 && timeout 30 bash -c 'module -t avail' 2>&1 |
  grep -iE 'mpi|mvapich|hpcx|ucx|osu|hpl|hpcc|hpcg|fio|ior|gcc|cuda|nvhpc|oneapi|lammps|openfoam' | grep -v ':$' | head -200

section end
