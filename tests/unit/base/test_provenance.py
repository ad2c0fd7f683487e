from reframe_checks.base.provenance import parse_provenance, suite_revision

TEXT = """hostname=node1
nodelist=node[1-2,7]
kernel=Linux 6.1.0
cpu_model=Some CPU = fast
memory_kib=16384
mpi=mpirun (Open MPI) 4.1.4
sha256=aaaa  /usr/bin/fio
sha256=bbbb  /opt/lib/helper one.py
"""


def test_the_first_hash_is_the_executable():
    assert parse_provenance(TEXT) == {
        "hostname": "node1",
        "nodelist": ["node1", "node2", "node7"],
        "kernel": "Linux 6.1.0", "cpu_model": "Some CPU = fast", "memory_kib": "16384",
        "mpi": "mpirun (Open MPI) 4.1.4", "sha256": "aaaa", "executable": "/usr/bin/fio",
        "files": {"/opt/lib/helper one.py": "bbbb"},
    }  # fmt: skip


def test_suite_revision_is_known():
    assert suite_revision()
