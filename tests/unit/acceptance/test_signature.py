"""Signatures: by each party, with its own tool; by each required signer, and by no other in its place."""

import os
import re
import shutil

import pytest

from kappa.app.command.main import main
from kappa.core.ground.errors import InputError
from reports.acceptance.dossier import verify, write_dossier
from reports.acceptance.signature import MANIFEST, sign

needs_gpg = pytest.mark.skipif(not shutil.which("gpg"), reason="GnuPG is not provided here")
needs_minisign = pytest.mark.skipif(not shutil.which("minisign"), reason="minisign is not provided here")
NOBODY = "0" * 40


@pytest.fixture
def dossier(campaign, tmp_path):
    write_dossier(campaign.measure(9, 9, 9), tmp_path / "d", pdf=False, how_signed=None)
    return tmp_path / "d"


def alter_manifest(dossier):
    with (dossier / MANIFEST).open("a") as manifest:
        manifest.write("\n")


@needs_gpg
def test_both_parties_sign_with_gnupg(campaign, tmp_path, keyring, monkeypatch):
    buyer, vendor = keyring.values()
    write_dossier(campaign.measure(9, 9, 9), tmp_path / "d", pdf=False, how_signed=f"gpg:{buyer}")
    assert verify(tmp_path / "d").exit_status == 0
    assert verify(tmp_path / "d", [buyer, vendor]).problems == [f"not signed by {vendor}"]
    assert main(["acceptance", "sign", str(tmp_path / "d"), f"gpg:{vendor}", "--party", "vendor"]) == 0
    proof = verify(tmp_path / "d", [buyer, vendor.lower()])
    assert proof.exit_status == 0
    assert [re.search("good signature of (Buyer|Vendor)", words)[1] for words in proof.good[:2]] == ["Buyer", "Vendor"]
    # Its records have no raw output that could be read again.
    assert main(["verify", str(tmp_path / "d"), "--key", buyer, "--key", vendor]) == 2
    assert verify(tmp_path / "d", [NOBODY]).exit_status == 1
    alter_manifest(tmp_path / "d")
    assert verify(tmp_path / "d").exit_status == 1
    monkeypatch.setenv("GNUPGHOME", str(tmp_path))
    assert "is not in the keyring" in verify(tmp_path / "d").unchecked[0]


@needs_minisign
def test_both_parties_sign_with_minisign(dossier, keys):
    (buyer, buyers), (vendor, vendors) = keys.values()
    assert sign(dossier, f"minisign:{buyers}") == f"{MANIFEST}.minisig"
    assert sign(dossier, f"minisign:{vendors}", "vendor") == f"{MANIFEST}.vendor.minisig"
    assert verify(dossier, [buyer, vendor]).exit_status == 0
    assert verify(dossier).exit_status == 2
    one = verify(dossier, [buyer])
    assert one.exit_status == 2, "the other one is not checked"
    assert "give the file of its public key" in one.unchecked[0]
    (dossier / f"{MANIFEST}.vendor.minisig").unlink()
    assert verify(dossier, [buyer, vendor]).problems == [f"not signed by {vendor}"]
    alter_manifest(dossier)
    assert verify(dossier, [buyer]).exit_status == 1


@needs_gpg
@needs_minisign
def test_each_key_is_for_its_kind_of_signature(dossier, keyring, keys):
    public, secret = keys["Vendor"]
    sign(dossier, f"gpg:{keyring['Buyer']}")
    sign(dossier, f"minisign:{secret}")
    assert verify(dossier, [keyring["Buyer"], public]).exit_status == 0
    assert verify(dossier, [keyring["Buyer"]]).exit_status == 2
    assert verify(dossier, [keyring["Vendor"], public]).exit_status == 1


@needs_gpg
def test_a_signature_is_not_overwritten_and_names_are_plain(dossier, keyring):
    sign(dossier, "gpg")
    with pytest.raises(InputError, match="exists; name another party with --party"):
        sign(dossier, "gpg")
    with pytest.raises(InputError, match="expected at most 40 letters"):
        sign(dossier, "gpg", "../vendor")


def test_what_does_not_verify_is_not_signed(dossier, capsys):
    (dossier / "more.txt").write_text("")
    assert main(["acceptance", "sign", str(dossier), "gpg"]) == 2
    assert "added: more.txt" in capsys.readouterr().err


def test_an_unsigned_dossier_does_not_pass_for_a_signed_one(dossier):
    assert verify(dossier, [NOBODY]).exit_status == 1
    with pytest.raises(InputError, match="expected a GnuPG fingerprint or the file"):
        verify(dossier, ["nowhere.pub"])


@needs_gpg
@needs_minisign
@pytest.mark.parametrize("name", ["asc", "vendor.asc", "minisig"])
def test_what_is_no_file_of_a_signature(dossier, name):
    path = dossier / f"{MANIFEST}.{name}"
    os.mkfifo(path)
    assert verify(dossier).problems == [f"{path.name}: not a signature file"]
    path.unlink()
    path.symlink_to("/dev/zero")
    assert verify(dossier).problems == [f"{path.name}: not a signature file"]
    path.unlink()
    path.write_text("nothing")
    assert verify(dossier).exit_status == 1
