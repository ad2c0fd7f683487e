#!/usr/bin/env bash
# Usage, in a job script: . ./record_provenance.sh MPI_VERSION FILE…
# Writes the job's nodes and software and the checksum of each FILE to provenance.txt; the first FILE is the program.
# Records no environment variables: they may have secrets. Runs in a subshell to keep the script's variables unchanged.
(
    echo "hostname=$(uname -n)"
    echo "nodelist=${SLURM_JOB_NODELIST:-$(uname -n)}"
    echo "kernel=$(uname -sr)"
    echo "cpu_model=$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1)"
    echo "memory_kib=$(sed -n 's/^MemTotal:[[:space:]]*\([0-9]*\) kB/\1/p' /proc/meminfo)"
    # Other jobs on these nodes, if nodes are shared.
    if [[ ${SLURM_JOB_ID:-} ]]; then
        timeout 10 squeue --noheader --states=RUNNING,SUSPENDED --nodelist="$SLURM_JOB_NODELIST" --format=%A |
            grep -vx "$SLURM_JOB_ID" | sort -un | paste -sd ' ' - | sed -n 's/^./other_jobs=&/p' || true
    fi
    echo "mpi=$1"
    # Drivers that change without the kernel. The vendor's own file in /proc takes precedence over the module's.
    for module in nvidia mlx5_core amdgpu; do
        grep -hsom 1 '[0-9][0-9]*[.][^ ]*' "/proc/driver/$module/version" "/sys/module/$module/version" |
            sed -n "1s/^/$module /p"
    done | paste -sd ' ' - | sed -n 's/^./driver=&/p' || true
    for file in "${@:2}"; do echo "sha256=$(sha256sum "$file")"; done
) > provenance.txt
