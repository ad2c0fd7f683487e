"""A ``site.yaml`` of an older format is read, or what has changed is named with its line."""

import pytest

from kappa.core.ground.documents import YamlFile, require_sound
from kappa.core.ground.errors import InputError
from kappa.core.sites.description import CHANGES, CURRENT, OLDEST, FormatChange, read_as_current
from kappa.core.sites.site_file import describe

OLD = """\
descr: a site
partitions:
  cpu: {nodes: 4, cores: {per_node: 8}, environments: [system, mpich], features: [scale_one_node, compute]}
environments:
  system: {features: [emt-build], build_dir: build}
  mpich:
    features: [sweep-build, emt-other-mpi]
    build_dir: build-mpich
"""


@pytest.fixture
def site(tmp_path):
    def written(text):
        folder = tmp_path / "site_configs/here"
        folder.mkdir(parents=True)
        (folder / "site.yaml").write_text(text)
        return folder

    return written


def test_what_has_a_new_name_is_read_by_it(site):
    assert describe(site(OLD)).described.environments["mpich"].features == ["sweep-build", "emt-build"]


def test_what_a_person_has_to_change_is_named_with_its_line(site):
    folder = site(OLD + "    modes: [full]\n")
    with pytest.raises(InputError) as refused:
        describe(folder)
    said = f"{folder / 'site.yaml'}: line 9: environments.mpich.modes: no longer a key since format 2: `modes` is a key"
    assert str(refused.value).startswith(said) and "\n" not in str(refused.value)


def test_a_file_of_this_format_has_no_old_names(site):
    with pytest.raises(InputError, match=r"line 8: .*unknown environment feature 'emt-other-mpi'"):
        describe(site(f"format: {CURRENT}\n{OLD}"))


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        (CURRENT + 1, "a newer Kappa wrote it: upgrade this one"),
        (0, "found 0"),
        ("two", "found 'two'"),
        ("true", "found True"),
    ],
)
def test_a_format_that_is_none_of_these(site, stated, words):
    with pytest.raises(InputError, match=f"line 1: format: expected a format from {OLDEST} to {CURRENT}; {words}"):
        describe(site(f"format: {stated}\n{OLD}"))


def test_a_site_that_was_code(tmp_path):
    (tmp_path / "settings.py").write_text("site_configuration = {}\n")
    with pytest.raises(InputError, match=r"expected site.yaml; it replaces the code in settings.py of Kappa 0.1.0"):
        describe(tmp_path)


def test_a_key_with_a_new_name_keeps_its_line(tmp_path):
    """An error of its value names the place where it is written."""
    (tmp_path / "site.yaml").write_text("a:\n  x: 1\n  y:\n    old: 2\n")
    file = YamlFile(tmp_path / "site.yaml")
    read_as_current(file, [FormatChange(2, ("a", "*", "old"), instead="new")])
    require_sound([file])
    assert file.value == {"a": {"x": 1, "y": {"new": 2}}}
    file.refuse(("a", "y", "new"), "wrong")
    assert file.problems == [f"{tmp_path / 'site.yaml'}: line 4: a.y.old: wrong"]


def test_every_change_says_what_to_do():
    assert all(bool(change.instead) != bool(change.words) for change in CHANGES)
    assert all(OLDEST < change.format <= CURRENT for change in CHANGES)
