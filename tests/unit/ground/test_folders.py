"""Folders of sites, folders that an installed suite writes to, and keys of a user's configuration."""

import pathlib
import shutil

import pytest

from kappa.app.command import main as command
from kappa.core.ground import folders
from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import only_site, results_folder, site_folder

SITE = folders.SUITE / "site_configs/cpu-infiniband"


@pytest.fixture(autouse=True)
def nothing_is_named(tmp_path, monkeypatch):
    """No variable, no configuration, and a working directory without sites."""
    for variable in (folders.SITES_VARIABLE, folders.HOME_VARIABLE, "KAPPA_RESULTS"):
        monkeypatch.delenv(variable, raising=False)
    for variable in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")


@pytest.fixture
def centre(tmp_path):
    """A centre's folder with a site of its own."""
    shutil.copytree(SITE, tmp_path / "centre/ours")
    return tmp_path / "centre"


@pytest.fixture
def suite_is_installed(tmp_path, monkeypatch):
    suite = tmp_path / "site-packages"
    (suite / "kappa_validation-1.0.dist-info").mkdir(parents=True)
    shutil.copytree(SITE, suite / "site_configs/theirs")
    monkeypatch.setattr(folders, "SUITE", suite)
    return suite


def configured(text):
    folders.configuration_file().parent.mkdir(parents=True, exist_ok=True)
    folders.configuration_file().write_text(text)


def test_a_checkout_holds_everything():
    assert folders.home() == folders.SUITE
    assert only_site("embedded") == folders.SUITE / "site_configs/embedded"
    assert results_folder("embedded") == folders.SUITE / "results/embedded"


def test_a_working_directory_with_sites_goes_before_the_checkout(tmp_path, monkeypatch):
    shutil.copytree(SITE, tmp_path / "copy/site_configs/ours")
    monkeypatch.chdir(tmp_path / "copy")
    assert folders.home() == tmp_path / "copy"
    assert only_site("ours") == tmp_path / "copy/site_configs/ours"


def test_a_working_directory_replaces_no_site_of_the_suite(tmp_path, monkeypatch):
    """Its site may be from anybody: it names programs that Kappa starts."""
    shutil.copytree(SITE, tmp_path / "copy/site_configs/embedded")
    monkeypatch.chdir(tmp_path / "copy")
    with pytest.raises(InputError, match=f"{tmp_path}/copy/site_configs/embedded and {folders.SUITE}"):
        site_folder("embedded")


def test_an_installed_suite_is_not_written_into(suite_is_installed, tmp_path):
    user = tmp_path / "XDG_DATA_HOME/kappa"
    assert folders.home() == user and folders.own_sites() == user / "site_configs"
    assert results_folder("theirs") == user / "results/theirs"
    assert folders.base_of(site_folder("theirs")) == user, "what a site names by a relative path, as its build_dir"


@pytest.mark.parametrize("how", ["variable", "configuration", "option"])
def test_a_centres_own_sites(how, centre, monkeypatch, capsys):
    if how == "variable":
        monkeypatch.setenv(folders.SITES_VARIABLE, str(centre))
    elif how == "configuration":
        configured(f'sites = "{centre}"\n')
    else:
        monkeypatch.setenv(folders.SITES_VARIABLE, "/what/the/option/replaces")
        assert command.main([f"--sites={centre}", "node", "quarantine", "nowhere"]) == 2
        said = capsys.readouterr().err
        assert f"sites are in {centre}, " in said and "'nowhere'" in said and "ours" in said
    assert site_folder("ours") == centre / "ours"
    assert folders.own_sites() == centre
    assert folders.base_of(centre / "ours") == folders.home(), "no file is written beside a centre's repository"


def test_a_name_in_two_places_is_refused(centre, monkeypatch):
    shutil.copytree(SITE, centre / "embedded")
    monkeypatch.setenv(folders.SITES_VARIABLE, str(centre))
    both = f"{centre / 'embedded'} and {folders.SUITE / 'site_configs/embedded'}"
    with pytest.raises(InputError, match=f"the site embedded is in two places, {both}: rename or remove one"):
        site_folder("embedded")


def test_a_folder_of_sites_that_is_not_there_is_named(tmp_path, monkeypatch, capsys):
    assert command.main(["--sites", str(tmp_path / "none"), "validate", "x"]) == 2
    assert f"--sites: expected a folder of sites, found '{tmp_path / 'none'}'" in capsys.readouterr().err
    monkeypatch.setenv(folders.SITES_VARIABLE, str(tmp_path / "none"))
    with pytest.raises(InputError, match=f"there is no folder {tmp_path / 'none'}, which KAPPA_SITES or"):
        site_folder("embedded")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('site = "/a"', 'site: expected sites = "FOLDER" and home = "FOLDER", found'),
        ("sites = 3", "sites: expected .* found 3"),
        ('sites = "', "config.toml: Illegal character|config.toml: Unterminated string|config.toml: Expected"),
    ],
)
def test_a_mistake_in_the_configuration_is_named(text, words):
    configured(text)
    with pytest.raises(InputError, match=words):
        folders.home()


def test_a_home_of_the_users_choice(tmp_path, monkeypatch):
    configured(f'home = "{tmp_path}/configured"\n')
    assert folders.home() == tmp_path / "configured"
    monkeypatch.setenv(folders.HOME_VARIABLE, "~/named")
    assert folders.home() == pathlib.Path("~/named").expanduser()


def test_a_schedule_keeps_the_folder_of_sites(centre, monkeypatch, capsys):
    monkeypatch.setenv(folders.SITES_VARIABLE, str(centre))
    assert command.main(["night", "schedule", "ours", "systemd", "--at", "02:00"]) == 0
    assert f"kappa --sites={centre} night run ours" in capsys.readouterr().out


def test_the_version(capsys):
    with pytest.raises(SystemExit) as ended:
        command.main(["--version"])
    assert ended.value.code == 0 and capsys.readouterr().out.startswith("kappa ")
