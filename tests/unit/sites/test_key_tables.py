"""Tables of keys: each key of a site's files with type, default and meaning."""

import pytest

from tests.key_tables import site_reference


@pytest.fixture(scope="module")
def rows():
    return {
        (title, cells[0].strip("`")): cells
        for title, table in site_reference().items()
        for cells in ([cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()[2:])
    }


@pytest.mark.parametrize(
    ("table", "key", "kind", "default"),
    [
        ("site keys", "partitions", "mapping", "required"),
        ("site keys", "spack.installed_only", "yes or no", "`false`"),
        ("site keys", "keep", "mapping", "nothing is deleted"),
        ("partition keys", "max_jobs", "whole number", "`8`"),
        ("partition keys", "cores.sockets", "whole number", "`1`"),
        ("partition keys", "storage.NAME.lustre.stripe_size", "whole number, bytes", "required"),
        ("environment keys", "hpl", "`xhpl` or `hpcc`", "none"),
        ("expected keys", "left_out[].why", "text", "required"),
    ],
)
def test_a_key(rows, table, key, kind, default):
    assert rows[table, key][1:3] == [kind, default]


def test_a_structure_with_a_table_of_its_own_is_not_repeated(rows):
    assert not [key for table, key in rows if table == "site keys" and key.startswith(("partitions.", "quarantine."))]


def test_keys_of_the_structure_come_before_those_that_checks_read(rows):
    of_partition = [key for table, key in rows if table == "partition keys"]
    assert of_partition.index("sched_options") < of_partition.index("nodes")
