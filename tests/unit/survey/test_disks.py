"""Disks that are not mounted. Lines are composed after sysfs-block, swapon(8) and udev's ID_FS_TYPE of libblkid."""

import pytest

from kappa.app.survey.probe import parse
from kappa.app.survey.storage import unmounted_disks
from tests.unit.survey.clusters import DATA, files_of, one_node, probe, with_facts


def disk(name, number, sectors, rotational=False, *, busy=False, content="", model=""):
    return [name, number, sectors * 512, rotational, False, busy, content, model]


NVME = disk("nvme1n1", "259:3", 7501476528, model="SAMSUNG MZQL23T8HCLS-00A07")
DATA_DISK = disk("sdb", "8:16", 7814037168, rotational=True)
SYSTEM = [disk("sda", "8:0", 937703088, model="INTEL SSDSC2KB48"), disk("sda/sda1", "8:1", 937701376)]


def found(*disks, mounts=()):
    return unmounted_disks(parse(with_facts(probe("n1", mounts=mounts), {"site.disks": [*disks]})))


def test_a_disk_without_a_file_system():
    [unused] = found(*SYSTEM, NVME)
    assert (unused.name, unused.size_gb, unused.kind, unused.removable) == ("nvme1n1", 3840.8, "NVMe", False)
    assert (unused.content, unused.model) == ([], "SAMSUNG MZQL23T8HCLS-00A07")


def test_a_disk_whose_file_system_is_not_mounted():
    [unused] = found(DATA_DISK, disk("sdb/sdb1", "8:17", 7814035456, content="xfs"))
    assert (unused.kind, unused.content) == ("spinning", ["xfs"])


@pytest.mark.parametrize(
    "disks",
    [
        [disk("sdb", "8:16", 7814037168, busy=True, content="LVM2_member")],
        [DATA_DISK, disk("sdb/sdb1", "8:17", 7814035456, busy=True, content="linux_raid_member")],
        [DATA_DISK, disk("sdb/sdb2", "8:18", 16777216, busy=True, content="swap")],
        [disk("mmcblk0boot0", "179:8", 8192)],
    ],
    ids=["volume group", "RAID of a partition", "swap space", "firmware's"],
)
def test_a_disk_that_is_in_use_or_too_small(disks):
    assert found(*disks) == []


@pytest.mark.parametrize(
    ("content", "mount"),
    [
        ("btrfs", "32 20 0:44 / /data rw - btrfs /dev/sdb1 rw"),
        ("xfs", "32 20 8:17 / /data rw - xfs /dev/disk/by-label/data rw"),
        ("zfs_member", "32 20 0:44 / /tank rw - zfs tank rw"),
    ],
)
def test_a_mount_is_known_by_number_by_name_or_as_a_pool(content, mount):
    disks = [DATA_DISK, disk("sdb/sdb1", "8:17", 7814035456, content=content)]
    assert found(*disks, mounts=[mount]) == []
    assert [unused.content for unused in found(*disks)] == [[content]]


def test_the_only_disk_of_the_recorded_machine_holds_its_root():
    machine = parse((DATA / "machine-probe.txt").read_text())
    assert [device.name for device in machine.devices] == ["vda"]
    assert unmounted_disks(machine) == []
    bare = machine._replace(mounts=())
    assert [(unused.name, unused.size_gb) for unused in unmounted_disks(bare)] == [("vda", 274.9)]


def test_the_site_names_it_in_a_comment():
    text = with_facts(probe("NAME"), {"site.disks": [NVME]})
    made = files_of(one_node(text))
    [line] = [line for line in made["site.yaml"].splitlines() if "nvme1n1" in line]
    assert line.strip().startswith("# Not mounted: nvme1n1, 3840.8 GB, NVMe, SAMSUNG")
