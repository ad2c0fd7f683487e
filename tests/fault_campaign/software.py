"""Faults of what runs on a node: another program, library or component, a user or a module that the others know."""

import contextlib
import os
import random
from collections.abc import Iterator

from tests.fault_campaign.cluster import Cluster
from tests.fault_campaign.faults import Kind
from tests.fault_campaign.node_state import between, other_file

# It works as the right one does.
_ANOTHER_BUILD = 'cp "$path" "$fake"; printf "another build" >> "$fake"'
_COMPONENTS = f"/usr/lib/{os.uname().machine}-linux-gnu/openmpi/lib/openmpi3/"
_FIRST_ON_PATH = """
mkdir -p /run/first-$(uname -n); cp -a /usr/local/bin/. /run/first-$(uname -n)
printf '#!/bin/sh\\nexec /usr/bin/mpirun "$@"\\n' > /run/first-$(uname -n)/mpirun
chmod 755 /run/first-$(uname -n)/mpirun
mount --bind /run/first-$(uname -n) /usr/local/bin
"""


@contextlib.contextmanager
def other_component(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
    name = draw.choice(["mca_btl_tcp", "mca_pml_ob1", "mca_coll_tuned"])
    with other_file(f"{_COMPONENTS}{name}.so", _ANOTHER_BUILD)(cluster, node, draw) as told:
        yield told


OF_USERS = (
    Kind("user unknown", False, "the node does not know a user", other_file(
        "/etc/passwd", 'sed "/^games:/d" "$path" > "$fake"')),
    Kind("other number", False, "a user has another number on the node", other_file(
        "/etc/passwd", 'sed "s/^games:x:5:/games:x:4005:/" "$path" > "$fake"')),
    Kind("other group", False, "the node calls a user's group otherwise", other_file(
        "/etc/group", 'sed "s/^games:/players:/" "$path" > "$fake"')),
)  # fmt: skip
# What of it a job runs.
KINDS = (
    Kind("other mpirun", False, "another `mpirun` comes first on the node's PATH", between(
        _FIRST_ON_PATH, "umount --lazy /usr/local/bin; rm -rf /run/first-$(uname -n)", "/usr/local/bin/mpirun")),
    Kind("other MPI component", False, "another build of a component that Open MPI opens", other_component),
    Kind("other fio", False, "another build of `fio`", other_file("/usr/bin/fio", _ANOTHER_BUILD)),
    Kind("other MPI settings", False, "Open MPI reads other parameters on the node", other_file(
        "/etc/openmpi/openmpi-mca-params.conf", 'cp "$path" "$fake"; echo "btl_tcp_links = 2" >> "$fake"')),
    Kind("library not found", True, "a library that `fio` needs is not on the node", other_file(
        f"/usr/lib/{os.uname().machine}-linux-gnu/libaio.so.1", 'echo damaged > "$fake"')),
    Kind("header missing", False, "the node has no `mpi.h`", between(
        "mount -t tmpfs tmpfs /usr/lib/$(uname -m)-linux-gnu/openmpi/include",
        "umount --lazy /usr/lib/$(uname -m)-linux-gnu/openmpi/include", "no mpi.h")),
)  # fmt: skip
