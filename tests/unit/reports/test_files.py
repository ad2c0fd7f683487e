import pytest

from kappa.core.ground.errors import InputError
from kappa.core.ground.whole_files import write_atomically


def test_the_whole_file_or_the_old_one(tmp_path):
    target = tmp_path / "page.html"
    write_atomically(target, "näw ≥\n")
    write_atomically(target, "newer")
    assert target.read_text(encoding="utf-8") == "newer"
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_a_failure_leaves_nothing_behind(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=r"cannot write .*folder: Is a directory"):
        write_atomically(tmp_path / "folder", "text")
    with pytest.raises(InputError, match=r"cannot write .*page.html: No such file or directory"):
        write_atomically(tmp_path / "none/page.html", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
