"""Find the file systems of a node, and assign them to the suite's storage targets."""

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from kappa.app.survey.probe import Mount, Probe
from kappa.core.vocabulary.features import OF_ONE_NODE

# Network file systems: the kernel's type -> name, in the order of preference.
NETWORK = {
    "lustre": "Lustre", "beegfs": "BeeGFS", "gpfs": "GPFS", "wekafs": "WekaFS", "ceph": "CephFS", "panfs": "PanFS",
    "pvfs2": "OrangeFS", "orangefs": "OrangeFS", "daos": "DAOS", "fuse.dfuse": "DAOS", "nfs4": "NFS", "nfs": "NFS",
    "cifs": "SMB", "smb3": "SMB", "afs": "AFS",
}  # fmt: skip
LOCAL = ("ext4", "xfs", "btrfs", "zfs", "ext3", "f2fs")
# Mounts of the operating system. A mount on the same device is no disk for jobs, unless its name says so.
_OF_THE_SYSTEM = ("/", "/usr", "/etc", "/var", "/boot")
_TELLING = re.compile(r"/(?:.*[/_-])?(?:l?scratch\w*|nvme\w*|ssd\w*|local\w*|shared)$")
_FLASH = re.compile(r"flash|ssd|nvme", re.IGNORECASE)


class FileSystem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file system. ``folder``: where the user can write, empty if not found. ``why``: the reason for ``shared``."""

    point: str
    kind: str
    source: str
    shared: bool
    why: str
    folder: str = ""
    stripe_count: int = 0
    stripe_size: int = 0
    osts: int = 0


def file_systems(probes: Sequence[Probe], login: Probe | None) -> list[FileSystem]:
    """Return the file systems of the first probe. The other probes show whether they see the same files."""
    node = probes[0]
    others = [*probes[1:], *([login] if login else [])]
    found = []
    for mount in _of_interest(node.mounts):
        shared, why = _shared(mount, node, others)
        striping = node.lustre[mount.point]._asdict() if mount.point in node.lustre else {}
        kind, folder = NETWORK.get(mount.type, mount.type), _folder(mount.point, node)
        found.append(
            FileSystem(
                point=mount.point, kind=kind, source=mount.source, shared=shared, why=why, folder=folder, **striping
            )
        )
    return found


def targets(found: Iterable[FileSystem]) -> dict[str, FileSystem]:
    """Assign a file system to each storage target, if there is one.

    The first that all nodes see is `shared`. A further Lustre is `lustre_ssd` if its name says flash, else
    `lustre_hdd`. A node's own file system is `nvme` if its device is NVMe, else `scratch`.
    """
    order = list(NETWORK.values())
    chosen: dict[str, FileSystem] = {}
    for one in sorted(
        found, key=lambda one: (order.index(one.kind) if one.kind in order else len(order), not one.folder)
    ):
        if not one.shared:
            names = ["nvme" if "nvme" in one.source else "scratch"]
        elif one.kind == "Lustre":
            names = ["shared", "lustre_ssd" if _FLASH.search(one.point + one.source) else "lustre_hdd"]
        else:
            names = ["shared"]
        name = next((name for name in names if name not in chosen), None)
        if name:
            assert one.shared is not (name in OF_ONE_NODE)
            chosen[name] = one
    return chosen


def _of_interest(mounts: Sequence[Mount]) -> Iterator[Mount]:
    """Yield one mount of each network file system, and of each local disk for jobs."""
    seen: set[str] = set()
    system = {mount.device for mount in mounts if mount.point in _OF_THE_SYSTEM}
    for mount in sorted(mounts, key=lambda mount: (len(mount.point), mount.point)):
        if mount.device in seen or mount.point == "/":
            continue
        network, own_device = mount.type in NETWORK, mount.device not in system
        for_jobs = mount.type in LOCAL and not mount.point.startswith(_OF_THE_SYSTEM[1:])
        if network or (for_jobs and (own_device or _TELLING.fullmatch(mount.point))):
            if network or own_device:
                seen.add(mount.device)
            yield mount


def _shared(mount: Mount, node: Probe, others: Sequence[Probe]) -> tuple[bool, str]:
    if mount.type in NETWORK:
        return True, f"{NETWORK[mount.type]} is a network file system"
    beside = next((other for other in others if other.boot_id == node.boot_id and other.name != node.name), None)
    here, there = node.folders.get(mount.point), beside.folders.get(mount.point) if beside else None
    if beside and here and here == there:
        return True, f"{node.name} and {beside.name} run on one kernel and see the same folder"
    return False, f"{mount.type} is a local file system"


def _folder(point: str, node: Probe) -> str:
    """Return the deepest folder in which the user can write on the file system at ``point``."""
    points = sorted((mount.point for mount in node.mounts), key=len, reverse=True)

    def mounted_at(folder: str) -> str:
        return next((one for one in points if f"{folder}/".startswith(f"{one.rstrip('/')}/")), "/")

    inside = [folder for folder in node.folders if mounted_at(folder) == point]
    return max(inside, key=lambda folder: (folder.count("/"), folder), default="")
