"""`cluster up`: a new cluster, or what is missing of the one that runs."""

import os
import secrets
import shutil
from pathlib import Path
from typing import Any

from kappa.embedded_cluster.console import ClusterError, Deadline, Progress
from kappa.embedded_cluster.instance import Instance, find_outer
from kappa.embedded_cluster.layout import LOGIN, StateLayout, write_whole
from kappa.embedded_cluster.light_nodes import check_memory
from kappa.embedded_cluster.lock import state_lock
from kappa.embedded_cluster.options import ClusterOptions, find_gpu_devices
from kappa.embedded_cluster.precheck import check_place, check_programs, needs_user_namespace
from kappa.embedded_cluster.render import (
    render_gres_conf,
    render_hosts,
    render_mpi_conf,
    render_slurm_conf,
    render_slurmdbd_conf,
)
from kappa.embedded_cluster.start import Starter
from kappa.embedded_cluster.stop import stop_cluster
from kappa.embedded_cluster.switches import render_bridges, render_topology_conf
from kappa.embedded_cluster.wrappers import write_wrappers


def bring_up(layout: StateLayout, wanted: dict[str, Any], timeout_s: float, progress: Progress, manager: Path) -> None:
    """Make sure that the cluster is up; `wanted` holds the options that the user gave.

    Raises ClusterError; a new cluster that fails to start is taken down again.
    """
    check_place(layout.state)
    deadline = Deadline(timeout_s)
    with state_lock(layout, deadline, progress):
        instance = Instance.load(layout)
        if instance and instance.init_of(LOGIN):
            _heal(instance, wanted, deadline, progress)
        else:
            _start_new(layout, ClusterOptions(**wanted), deadline, progress, manager)


def _heal(instance: Instance, wanted: dict[str, Any], deadline: Deadline, progress: Progress) -> None:
    conflicts = instance.options.conflicts(wanted)
    if conflicts:
        raise ClusterError(
            f"a cluster with other options is up in {instance.layout.state}: {'; '.join(conflicts)}. "
            "Take it down first (cluster down), or choose another --state"
        )
    starter = Starter(instance, progress, deadline)
    starter.run()
    if starter.started:
        progress.say(f"was already up; restarted: {', '.join(starter.started)}")
    else:
        progress.say("already up")


def _start_new(
    layout: StateLayout, options: ClusterOptions, deadline: Deadline, progress: Progress, manager: Path
) -> None:
    check_programs(options.accounting)
    rootless = needs_user_namespace()
    if rootless and options.scratch_fs == "ext4":
        raise ClusterError("--scratch-fs ext4 needs root, for the loop devices: use tmpfs or auto")
    if find_outer(layout) or layout.run.exists():
        # What a crash left behind, or a start that was killed.
        stop_cluster(layout, progress)
    if options.light:
        check_memory(options.nodes)
    instance = Instance(layout, options, rootless, find_gpu_devices())
    try:
        _write_files(instance, manager)
        Starter(instance, progress, deadline).run()
    except BaseException:
        progress.say("the start failed: taking down what was started")
        stop_cluster(layout, progress)
        raise
    progress.say(f"ready: {options.nodes} nodes")


def _write_files(instance: Instance, manager: Path) -> None:
    layout, options = instance.layout, instance.options
    if layout.log.exists():
        previous = layout.log.with_name("log.previous")
        shutil.rmtree(previous, ignore_errors=True)
        layout.log.rename(previous)
    layout.create(options.node_names)
    if not layout.munge_key.exists():
        write_whole(layout.munge_key, secrets.token_hex(64), 0o600)
    memory_mib = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
    write_whole(layout.etc / "hosts", render_hosts(options))
    write_whole(layout.etc / "switches", render_bridges(options))
    write_whole(layout.slurm_etc / "topology.conf", render_topology_conf(options))
    write_whole(layout.slurm_etc / "slurm.conf", render_slurm_conf(options, instance.gpu_devices, memory_mib))
    write_whole(layout.slurm_etc / "gres.conf", render_gres_conf(options, instance.gpu_devices))
    write_whole(layout.slurm_etc / "mpi.conf", render_mpi_conf())
    write_whole(layout.slurm_etc / "slurmdbd.conf", render_slurmdbd_conf(), 0o600)
    write_wrappers(layout, instance.rootless, manager)
    instance.save()
