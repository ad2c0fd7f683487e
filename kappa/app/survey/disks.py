"""Disks of a node that nothing uses: no file system of theirs is mounted, and nothing is made of them."""

from msgspec import Struct

from kappa.app.survey.probe import BlockDevice, Probe

# Smaller ones are firmware's, or media that a service processor shows.
_LEAST_BYTES = 10**9
_ZFS = "zfs_member"


class UnmountedDisk(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``kind``: NVMe, flash or spinning, by the kernel, to which virtual disks say what they like.

    ``content``: file systems or volumes on it and its partitions by udev, empty where udev knows none.
    """

    name: str
    size_gb: float
    kind: str
    removable: bool
    content: list[str]
    model: str

    @property
    def words(self) -> str:
        what = [f"{self.size_gb:g} GB", self.kind, "removable" * self.removable, self.model]
        return ", ".join(filter(None, [*what, f"holds {' '.join(self.content)}" if self.content else ""]))


def unmounted_disks(node: Probe) -> list[UnmountedDisk]:
    """Return the disks of which neither they nor a partition of them is mounted, swap space, or part of a volume."""
    found = []
    for disk in node.devices:
        devices = [disk, *(one for one in node.devices if one.name.startswith(f"{disk.name}/"))]
        if "/" in disk.name or disk.size_bytes < _LEAST_BYTES or any(_used(one, node) for one in devices):
            continue
        found.append(
            UnmountedDisk(
                name=disk.name,
                size_gb=round(disk.size_bytes / 1e9, 1),
                kind="NVMe" if disk.name.startswith("nvme") else "spinning" if disk.rotational else "flash",
                removable=disk.removable,
                content=list(dict.fromkeys(one.content for one in devices if one.content)),
                model=disk.model,
            )
        )
    return found


def _used(device: BlockDevice, node: Probe) -> bool:
    """Btrfs mounts have a device of their own and name one of their disks; ZFS names its pool alone."""
    source = f"/dev/{device.name.rpartition('/')[2]}"
    return (
        device.busy
        or any(mount.device == device.number or mount.source == source for mount in node.mounts)
        or (device.content == _ZFS and any(mount.type == "zfs" for mount in node.mounts))
    )
