"""Disks that are not mounted. Lines are composed after sysfs-block, swapon(8) and udev's ID_FS_TYPE of libblkid."""

import pytest

from kappa.app.survey.probe import parse
from kappa.app.survey.storage import unmounted_disks
from tests.unit.survey.clusters import DATA, files_of, one_node, probe, with_sections

NVME = "nvme1n1|259:3|7501476528|0|0|||SAMSUNG MZQL23T8HCLS-00A07"
SYSTEM = ["sda|8:0|937703088|0|0|||INTEL SSDSC2KB48", "sda/sda1|8:1|937701376|||||"]


def found(*lines, mounts=()):
    return unmounted_disks(parse(with_sections(probe("n1", mounts=mounts), disks=lines)))


def test_a_disk_without_a_file_system():
    [disk] = found(*SYSTEM, NVME)
    assert (disk.name, disk.size_gb, disk.kind, disk.removable) == ("nvme1n1", 3840.8, "NVMe", False)
    assert (disk.content, disk.model) == ([], "SAMSUNG MZQL23T8HCLS-00A07")


def test_a_disk_whose_file_system_is_not_mounted():
    [disk] = found("sdb|8:16|7814037168|1|0|||ST4000NM", "sdb/sdb1|8:17|7814035456||||xfs|")
    assert (disk.kind, disk.content) == ("spinning", ["xfs"])


@pytest.mark.parametrize(
    "lines",
    [
        ["sdb|8:16|7814037168|1|0|yes|LVM2_member|"],
        ["sdb|8:16|7814037168|1|0||||", "sdb/sdb1|8:17|7814035456|||yes|linux_raid_member|"],
        ["sdb|8:16|7814037168|1|0||||", "sdb/sdb2|8:18|16777216|||yes|swap|"],
        ["mmcblk0boot0|179:8|8192|0|0||||"],
        ["sdb|8:16||1|0||||", "sdb"],
    ],
    ids=["volume group", "RAID of a partition", "swap space", "firmware's", "no size"],
)
def test_a_disk_that_is_in_use_or_too_small(lines):
    assert found(*lines) == []


@pytest.mark.parametrize(
    ("content", "mount"),
    [
        ("btrfs", "32 20 0:44 / /data rw - btrfs /dev/sdb1 rw"),
        ("xfs", "32 20 8:17 / /data rw - xfs /dev/disk/by-label/data rw"),
        ("zfs_member", "32 20 0:44 / /tank rw - zfs tank rw"),
    ],
)
def test_a_mount_is_known_by_number_by_name_or_as_a_pool(content, mount):
    lines = ["sdb|8:16|7814037168|1|0||||", f"sdb/sdb1|8:17|7814035456||||{content}|"]
    assert found(*lines, mounts=[mount]) == []
    assert [disk.content for disk in found(*lines)] == [[content]]


def test_the_only_disk_of_the_recorded_machine_holds_its_root():
    machine = parse((DATA / "machine-probe.txt").read_text())
    assert [device.name for device in machine.devices] == ["vda"]
    assert unmounted_disks(machine) == []
    bare = machine._replace(mounts=())
    assert [(disk.name, disk.size_gb) for disk in unmounted_disks(bare)] == [("vda", 274.9)]


def test_the_site_names_it_in_a_comment():
    text = with_sections(probe("NAME"), disks=[NVME])
    made = files_of(one_node(text))
    [line] = [line for line in made["site.yaml"].splitlines() if "nvme1n1" in line]
    assert line.strip().startswith("# Not mounted: nvme1n1, 3840.8 GB, NVMe, SAMSUNG")
