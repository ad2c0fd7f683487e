"""A spec that a person chose stands in for the environment's own, in an environment beside it."""

import os

import pytest
import yaml

from kappa.app.command import validate
from kappa.app.command.main import main
from kappa.core.ground.errors import InputError
from kappa.core.sites.site_file import describe
from kappa.core.vocabulary import spack_tables
from reframe_checks.base.site_settings import settings_of
from spack_envs.installer import state
from spack_envs.installer.chosen import VARIABLE, changed_roots, choose
from spack_envs.installer.reframe_settings import installed_environments, planned_environments


@pytest.fixture(autouse=True)
def no_spack(tmp_path, monkeypatch):
    monkeypatch.setenv("KAPPA_SPACK_STATE", str(tmp_path))
    monkeypatch.setenv(VARIABLE, "")


def environment(name, site="embedded"):
    return state.SpackSite(site).environment(spack_tables.read(name))


@pytest.mark.parametrize(
    ("spec", "name", "root"),
    [
        ("osu-micro-benchmarks ^mpich", "mpi-io", "osu-micro-benchmarks@=7.5 ^mpich"),
        ("osu-micro-benchmarks@7.4 ^mpich", "mpi-io", "osu-micro-benchmarks@7.4 ^mpich"),
        ("hpcc ^mpich", "mpi-io", "hpcc@=1.5.0 cflags=-DHPL_NO_MPI_DATATYPE ^mpich"),
        ("stream array_size=5", "mpi-io", "kappa.stream@=5.10 array_size=5"),
        ("builtin.stream@5.10", "mpi-io", "builtin.stream@5.10"),
        ("osu-micro-benchmarks+cuda ^mvapich", "gpu", "osu-micro-benchmarks@=7.5 +cuda ^mvapich"),
        ("emt-app %clang", "app", "kappa.emt-app@=1.0.0 %clang"),
    ],
)
def test_a_chosen_spec_replaces_one_and_says_what_it_leaves_open(spec, name, root):
    own = yaml.safe_load(spack_tables.specs_file(name).read_text())["spack"]["specs"]
    choose([spec])
    found = changed_roots(name)
    assert root in found and len(found) == len(own)
    assert len(set(found) - set(own)) == 1
    assert [other for other in spack_tables.names() if changed_roots(other)] == [name]


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ("foo", "no environment of the suite has 'foo', with or without CUDA: expected one of babelstream, btio"),
        ("ior+cuda", "no environment of the suite has 'ior +cuda'"),
        ("^mpich", "'^mpich' is no Spack spec: expected, for instance"),
    ],
)
def test_a_spec_that_nothing_asks_for_is_refused(spec, complaint, capsys, monkeypatch):
    with pytest.raises(InputError) as caught:
        choose([spec])
    assert complaint in str(caught.value)
    monkeypatch.setenv(VARIABLE, "")
    assert main(["validate", "cpu-infiniband", "smoke", f"--spec={spec}"]) == 2
    assert complaint in capsys.readouterr().err


def test_two_specs_make_one_environment_beside_the_suites_own():
    own = environment("mpi-io")
    assert own.name == "mpi-io"
    choose(["ior@3.3.0", "hpl ^blis"])
    both = environment("mpi-io")
    assert both.name.startswith("mpi-io-") and both.folder == own.site.folder / both.name
    choose(["hpl ^blis", "ior@3.3.0"])
    assert environment("mpi-io").name == both.name
    choose(["ior@3.3.0"])
    assert environment("mpi-io").name not in (both.name, "mpi-io")
    assert environment("app").name == "app"


def test_what_spack_was_told_for_the_suites_own_counts():
    environment("mpi-io").write_record(digest="", KAPPA_SPACK_ROOT="/apps/spack")
    choose(["ior@3.3.0"])
    assert environment("mpi-io").record() == {}
    assert environment("mpi-io").setting("KAPPA_SPACK_ROOT") == "/apps/spack"
    assert "KAPPA_SPACK_SPEC=ior@3.3.0 spack_envs/install" in environment("mpi-io").site.install_command("mpi-io")


def test_reframe_is_offered_the_chosen_one_in_place_of_the_other_installed_or_not():
    choose(["ior@3.3.0"])
    name = environment("mpi-io", "cpu-infiniband").name
    assert [one["name"] for one in installed_environments("cpu-infiniband")] == [name]
    planned = [one["name"] for one in planned_environments("cpu-infiniband")]
    assert planned == ["app", "applications", "gpu", name, "openfoam", "rated"]
    settings = settings_of(describe(spack_tables.REPOSITORY / "site_configs/cpu-infiniband"), state.state_root())
    (partition,) = settings["systems"][0]["partitions"]
    assert name in partition["environs"] and "mpi-io" not in partition["environs"]
    (path,) = [dict(one["env_vars"])["PATH"] for one in settings["environments"] if one["name"] == name]
    assert f"/cpu-infiniband/{name}/view/bin" in path


def test_a_validation_takes_specs_from_among_the_options_of_reframe(monkeypatch):
    seen = []
    monkeypatch.setattr(validate, "_validate", lambda options, *_: seen.append(options) or 0)
    monkeypatch.setattr("kappa.app.conduct.preflight.require_sense", lambda *_: None)
    words = ["smoke", "--spec", "ior@3.3.0", "-n", "Ior", "--spec=hpl ^blis", "-S", "x=1"]
    assert main(["validate", "embedded", *words]) == 0
    (options,) = seen
    assert options.spec == ["ior@3.3.0", "hpl ^blis"]
    assert options.reframe == ["-n", "Ior", "-S", "x=1"]
    assert os.environ[VARIABLE] == "ior@3.3.0;hpl ^blis"
