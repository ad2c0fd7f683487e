#!/bin/bash
# Slurm runs this on each node before the tasks of a step (srun's --task-prolog). It appends a line to load_watch/NODE
# beside itself: time, number of cores, and since the node's start the busy seconds of the cores, the seconds taken by a
# hypervisor, the bytes of the disks, and the job's own share of both. Number and SHA-256 (first digits) of the line
# reveal lines that a shared file system lost. The job's last step does nothing else.
set -uo pipefail
[[ ${SLURM_LOCALID-0} == 0 ]] || exit 0
folder=$(dirname "$0")/load_watch
mkdir -p "$folder" || exit 0

# The job's own time: from its control group if Slurm made one, else from the user's processes and Slurm's steps, with
# the children that they have waited for. If nodes are namespaces, /proc shows only the node's own processes.
own_us() {
  local group usage
  while IFS=: read -r _ _ group; do
    [[ $group == */job_"$SLURM_JOB_ID"* ]] || continue
    group=${group%"${group#*/job_"$SLURM_JOB_ID"}"}
    if usage=$(sed -n 's/^usage_usec //p' "/sys/fs/cgroup$group/cpu.stat"); then echo "$usage"; return; fi
    if read -r usage < "/sys/fs/cgroup/cpuacct$group/cpuacct.usage"; then echo "${usage%???}"; return; fi
  done < /proc/self/cgroup
  { find /proc -maxdepth 1 -uid "$EUID" -name '[0-9]*' -printf 'mine %f\n'; cat /proc/[0-9]*/stat; } |
    awk -v hz="$(getconf CLK_TCK)" '
      $1 == "mine" { mine[$2]; next }
      { pid = $1; step = /\(slurmstepd/; sub(/.*\) /, ""); if (step || pid in mine) ticks += $12 + $13 + $14 + $15 }
      END { printf "%.0f\n", ticks * 1e6 / hz }'
}

{
  file=$folder/$(uname -n)
  exec {lock}>> "$file" || exit 0
  flock "$lock"
  read -r at_s _ < /proc/uptime
  own=$(own_us)
  [[ $own ]] || exit 0
  own_bytes=$(cat /proc/[0-9]*/io | awk '/^(read|write)_bytes/ { sum += $2 } END { printf "%.0f", sum }')
  # Count only cores that the node may use (all, except in a container), and no partitions, loop devices or RAM disks.
  disks=" $(cd /sys/block && echo *) "
  line="look=$(($(wc -l < "$file") + 1)) $(
    awk -v hz="$(getconf CLK_TCK)" -v at="$at_s" -v own="$own" -v own_bytes="$own_bytes" -v disks="$disks" '
    /^Cpus_allowed_list/ { for (n = split($2, part, ","); n; n--) { split(part[n] "-" part[n], ends, "-")
                           for (c = ends[1]; c <= ends[2]; c++) mine["cpu" c] } }
    $1 in mine { cores++; busy += $2 + $3 + $4; steal += $9 }
    NF >= 14 && index(disks, " " $3 " ") && $3 !~ /^(loop|ram|zram|dm-|md)/ { sectors += $6 + $10 }
    END { printf "at_s=%s cores=%d busy_s=%.2f steal_s=%.2f own_s=%.3f disk_bytes=%.0f own_bytes=%s",
                 at, cores, busy / hz, steal / hz, own / 1e6, sectors * 512, own_bytes }
    ' /proc/1/status /proc/stat /proc/diskstats
  )"
  sum=$(echo "$line" | sha256sum)
  echo "$line sha256=${sum:0:16}" >> "$file"
} 2> /dev/null
exit 0
