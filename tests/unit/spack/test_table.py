import pytest

from kappa.core.vocabulary import spack_tables


def test_every_table_of_the_suite_can_be_read():
    assert spack_tables.names() == ["app", "applications", "gpu", "mpi-io", "openfoam", "rated"]
    assert spack_tables.read("app").programs == ["emt"]
    read = spack_tables.read("mpi-io")
    of_osu = {"osu", "osu-suite", "osu-start"}
    others = {"hpl", "hpcc", "stream", "ior", "mdtest", "iozone", "btio", "gpcnet"}
    assert of_osu | others == set(read.features)
    assert spack_tables.read("applications").programs == ["lmp"]
    assert read.extras == {"hpl": "xhpl", "stream": "stream"}
    assert {"osu-cuda", "nccl-tests", "nvbandwidth", "babelstream"} == set(spack_tables.read("gpu").features)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("path = [", "programs.toml"),
        ("path = []", "features: expected at least one"),
        ('path = "bin"\n[features]\nx = ["x"]', "path: expected a list of strings, found 'bin'"),
        ('path = ["bin"]\n[features]\nx = [1]', r"features.x: expected a list of strings"),
        ('path = ["bin"]\nfeatures = 1', "features: expected a table"),
        ('path = ["bin"]\nprogram = 1\n[features]\nx = ["x"]', "unknown key 'program'"),
    ],
)
def test_a_bad_table_is_named_with_its_key(tmp_path, text, complaint):
    (tmp_path / "one").mkdir()
    (tmp_path / "one/programs.toml").write_text(text)
    with pytest.raises(spack_tables.TableError, match=complaint) as caught:
        spack_tables.read("one", tmp_path)
    assert str(tmp_path / "one/programs.toml") in str(caught.value)


def test_an_unknown_environment_is_answered_with_those_there_are():
    known = "app, applications, gpu, mpi-io, openfoam, rated"
    with pytest.raises(spack_tables.TableError, match=f"no environment 'nope': there are {known}"):
        spack_tables.read("nope")
