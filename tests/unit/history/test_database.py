"""The database of the history runs no code but its own and fetches nothing."""

import duckdb
import pytest

from reports.history import dataset

AUTOMATIC = ("autoinstall_known_extensions", "autoload_known_extensions", "allow_community_extensions")


@pytest.fixture
def database():
    with dataset._connected() as opened:
        yield opened


def test_database_installs_and_loads_no_extension(database):
    for name in AUTOMATIC:
        assert database.execute("SELECT current_setting(?)", [name]).fetchone() == (False,)


@pytest.mark.parametrize("name", AUTOMATIC)
def test_query_cannot_permit_extensions_again(database, name):
    with pytest.raises(duckdb.InvalidInputException):
        database.execute(f"SET {name} = true")


def test_file_that_needs_an_extension_is_refused(database, tmp_path):
    (tmp_path / "values.sqlite").write_bytes(b"SQLite format 3\0" + bytes(84))
    with pytest.raises(duckdb.Error, match="sqlite"):
        database.execute(f"ATTACH '{tmp_path / 'values.sqlite'}'")
    loaded = "SELECT extension_name FROM duckdb_extensions() WHERE loaded AND extension_name LIKE '%sqlite%'"
    assert database.execute(loaded).fetchall() == []
