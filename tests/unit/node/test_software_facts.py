"""Facts of programs, the files that they load and open, and the needs of builds."""

import hashlib
import os
import pathlib
import pwd
import shutil
import sys

import pytest

from kappa.core.vocabulary.features import ENVIRONMENT_FEATURES
from kappa.core.vocabulary.programs import OF_FEATURE, OTHERWISE_KEPT, programs_of
from kappa.node.facts import builds, names, software


def test_a_program_and_all_that_it_loads():
    programs = ["sh", "no-such-program"]
    facts = software.places(programs) | software.objects(programs, [])
    shell = os.path.realpath(shutil.which("sh"))
    assert (facts["program.sh"], facts["program.no-such-program"]) == (shutil.which("sh"), None)
    assert facts["binary." + shell] == hashlib.sha256(pathlib.Path(shell).read_bytes()).hexdigest()
    assert any("/libc.so" in name for name in facts)
    assert facts["unresolved_libraries"] == []


@pytest.mark.parametrize("first_line", [f"#! {sys.executable} -I", "#!/usr/bin/env python3"])
def test_a_script_and_what_reads_it(on_path, first_line):
    script = on_path("measure", f"{first_line}\nprint()\n")
    reader = shutil.which("python3") if first_line.endswith("python3") else sys.executable
    assert software.started("measure") == [str(script), reader]


def test_a_wrapper_and_what_it_starts(on_path):
    wrapper = on_path("env", '#!/bin/sh\nexec "$(command -v -p env)" "$@"\n')
    found = software.started("env")
    assert found[:2] == [str(wrapper), "/bin/sh"]
    assert [os.path.realpath(path) for path in found[2:]] == [os.path.realpath("/usr/bin/env")]
    assert f"binary.{os.path.realpath('/usr/bin/env')}" in software.objects(["env"], [])


# As ldd of glibc 2.36 writes it.
_LDD = r"""#!/bin/sh
printf '/bin/a:\n\tlinux-vdso.so.1 (0x00007f)\n\tlibgone.so.1 => not found\n'
printf '\tlibc.so.6 => /lib/x/libc.so.6 (0x00007f)\n\t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n'
printf '/bin/script:\n\tnot a dynamic executable\n/bin/c:\n'
echo '/bin/c: error while loading shared libraries: /lib/x/libaio.so.1: invalid ELF header' >&2
"""


def test_what_the_loader_does_not_find(on_path):
    on_path("ldd", _LDD)
    found, lost = software.linked(["/bin/a"])
    real = os.path.realpath
    assert found == {real("/bin/a"), real("/lib/x/libc.so.6"), real("/lib64/ld-linux-x86-64.so.2")}
    assert lost == {"libgone.so.1", "/lib/x/libaio.so.1"}


def test_what_is_opened_later(tmp_path):
    for name in ("openmpi/mca_btl_tcp.so", "openmpi/help.txt", "libmpi.so.40", "libmpicxx.so.1"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    opened = software.opened
    assert str(tmp_path / "openmpi/mca_btl_tcp.so") in opened(str(tmp_path / "libmpi.so.40"))
    assert str(tmp_path / "openmpi/help.txt") not in opened(str(tmp_path / "libmpi.so.40"))
    assert opened(str(tmp_path / "libmpicxx.so.1")) == []


def test_two_nodes_read_what_is_on_a_network_file_system(tmp_path):
    path = tmp_path / "program"
    path.write_bytes(b"abc")
    os.utime(path, (7, 7))
    shared = {path.stat().st_dev: "nfs4"}
    digest = hashlib.sha256(b"abc").hexdigest()
    stamp = {f"shared_file.{path}": "3 bytes of 7"}
    assert dict(software.content(str(path), shared, False)) == stamp
    assert dict(software.content(str(path), shared, True)) == {**stamp, f"shared_content.{path}": digest}
    assert dict(software.content(str(path), {path.stat().st_dev: "ext4"}, False)) == {f"binary.{path}": digest}
    assert dict(software.content("/no/such/file", shared, False)) == {"binary./no/such/file": None}


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "lustre", "gpfs", "beegfs_nodev", "fuse.glusterfs", "ceph"])
def test_network_file_systems(kind):
    assert software.NETWORK.fullmatch(kind)


@pytest.mark.parametrize("kind", ["ext4", "xfs", "tmpfs", "overlay", "fuse.fuse-overlayfs", "btrfs", "squashfs"])
def test_file_systems_of_a_node(kind):
    assert not software.NETWORK.fullmatch(kind)


def test_what_builds_need(on_path, tmp_path):
    header = tmp_path / "include/nlohmann/json.hpp"
    library = tmp_path / "lib/libc.a"
    for path in (header, library):
        path.parent.mkdir(parents=True)
        path.touch()
    # As GCC 12 answers.
    on_path(
        "mpicxx",
        f"#!/bin/sh\ncase $1 in\n-print-file-name=libc.a) echo {library};;\n"
        '-print-file-name=*) echo "${1#*=}";;\n'
        f'*) printf \'#include "..." search starts here:\\n#include <...> search starts here:\\n {tmp_path}/none\\n '
        f"{tmp_path}/include\\nEnd of search list.\\n' >&2;;\nesac\n",
    )
    facts = builds.facts(["nlohmann/json.hpp", "libc.a", "libnone.a", "none.h"])
    assert facts == {
        "needed_to_build.nlohmann/json.hpp": str(header),
        "needed_to_build.libc.a": str(library),
        "needed_to_build.libnone.a": None,
        "needed_to_build.none.h": None,
    }


def test_accounts():
    own = pwd.getpwuid(os.getuid())
    accounts = names.accounts([own.pw_name, "no-such-user"])
    assert accounts["account.no-such-user"] is None
    assert accounts[f"account.{own.pw_name}"].startswith(f"number {os.getuid()}, home {own.pw_dir}, group ")


def test_the_programs_of_every_feature_are_known():
    assert set(OF_FEATURE) | OTHERWISE_KEPT == set(ENVIRONMENT_FEATURES)
    assert programs_of(["fio", "emt-build"]) == ["mpirun", "mpiexec", "srun", "scontrol", "squeue", "fio"]
