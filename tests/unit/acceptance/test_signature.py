"""Signatures: by each party, with its own tool; by each required signer, and by no other in its place."""

import base64
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from kappa.app.command.main import main
from kappa.core.ground.errors import InputError
from reports.acceptance.campaign.signature import MANIFEST, sign
from reports.acceptance.dossier import verify

needs_gpg = pytest.mark.skipif(not shutil.which("gpg"), reason="GnuPG is not provided here")
needs_minisign = pytest.mark.skipif(not shutil.which("minisign"), reason="minisign is not provided here")
NOBODY = "0" * 40


def alter_manifest(dossier):
    with (dossier / MANIFEST).open("a") as manifest:
        manifest.write("\n")


@needs_gpg
def test_both_parties_sign_with_gnupg(campaign, tmp_path, keyring, monkeypatch):
    buyer, vendor = keyring.values()
    dossier = campaign.measure(9, 9, 9).dossier(how_signed=f"gpg:{buyer}")
    assert verify(dossier).exit_status == 0
    assert verify(dossier, [buyer, vendor]).problems == [f"not signed by {vendor}"]
    assert main(["acceptance", "sign", str(dossier), f"gpg:{vendor}", "--party", "vendor"]) == 0
    proof = verify(dossier, [buyer, vendor.lower()])
    assert proof.exit_status == 0
    assert [re.search("good signature of (Buyer|Vendor)", line)[1] for line in proof.good[:2]] == ["Buyer", "Vendor"]
    # Its records have no raw output that could be read again.
    assert main(["acceptance", "verify", str(dossier), "--key", buyer, "--key", vendor]) == 2
    assert verify(dossier, [NOBODY]).exit_status == 1
    alter_manifest(dossier)
    assert verify(dossier).exit_status == 1
    monkeypatch.setenv("GNUPGHOME", str(tmp_path))
    assert "is not in the keyring" in verify(dossier).unchecked[0]


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
def test_second_signature_of_a_party_or_a_path_is_refused(dossier, keyring):
    sign(dossier, "gpg")
    with pytest.raises(InputError, match="exists; name another party with --party"):
        sign(dossier, "gpg")
    with pytest.raises(InputError, match="expected at most 40 letters"):
        sign(dossier, "gpg", "../vendor")


def test_altered_dossier_is_not_signed(dossier, capsys):
    (dossier / "more.txt").write_text("")
    assert main(["acceptance", "sign", str(dossier), "gpg"]) == 2
    assert "added: more.txt" in capsys.readouterr().err


def test_unsigned_dossier_fails_with_a_required_key(dossier):
    assert verify(dossier, [NOBODY]).exit_status == 1
    with pytest.raises(InputError, match="expected a GnuPG fingerprint or the file"):
        verify(dossier, ["nowhere.pub"])


@needs_gpg
@needs_minisign
@pytest.mark.parametrize("name", ["asc", "vendor.asc", "minisig"])
def test_pipe_or_link_is_no_signature(dossier, name):
    path = dossier / f"{MANIFEST}.{name}"
    os.mkfifo(path)
    assert verify(dossier).problems == [f"{path.name}: not a signature file"]
    path.unlink()
    path.symlink_to("/dev/zero")
    assert verify(dossier).problems == [f"{path.name}: not a signature file"]
    path.unlink()
    path.write_text("nothing")
    assert verify(dossier).exit_status == 1


def with_id(path, key_id):
    """Give a file of minisign's another key id. A secret key without a password has no checksum."""
    comment, text = pathlib.Path(path).read_text().splitlines()
    content = base64.b64decode(text)
    at = 2 if len(content) == 42 else 54
    changed = content[:at] + key_id + content[at + 8 :]
    pathlib.Path(path).write_text(f"{comment}\n{base64.b64encode(changed).decode()}\n")


def key_id_of(path):
    return base64.b64decode(pathlib.Path(path).read_text().splitlines()[1])[2:10]


@needs_minisign
def test_minisign_key_counts_only_for_its_own_signature_whatever_its_id(dossier, keys):
    (buyer, buyers), (vendor, vendors) = keys.values()
    for path in (vendor, vendors):
        with_id(path, key_id_of(buyer))
    sign(dossier, f"minisign:{buyers}")
    proof = verify(dossier, [buyer, vendor])
    assert (proof.exit_status, proof.problems) == (1, [f"not signed by {vendor}"])
    sign(dossier, f"minisign:{vendors}", "vendor")
    assert verify(dossier, [buyer, vendor]).exit_status == 0


@needs_minisign
@pytest.mark.parametrize("key_id", [None, b"vendor's"])
def test_same_minisign_key_for_two_parties_is_refused(dossier, keys, tmp_path, key_id):
    public, secret = keys["Buyer"]
    copied = tmp_path / "copied.pub"
    shutil.copy(public, copied)
    if key_id:
        with_id(copied, key_id)
    sign(dossier, f"minisign:{secret}")
    proof = verify(dossier, [public, str(copied)])
    assert (proof.exit_status, proof.problems) == (1, [f"--key {copied}: one key for two parties"])


@needs_gpg
def test_same_gnupg_key_for_two_parties_is_refused(dossier, keyring):
    buyer = keyring["Buyer"]
    sign(dossier, f"gpg:{buyer}")
    assert verify(dossier, [buyer, buyer.lower()]).exit_status == 1
    sign(dossier, f"gpg:{buyer}", "vendor")
    proof = verify(dossier)
    assert (proof.exit_status, len(proof.good), len(proof.problems)) == (1, 1, 1)


@needs_gpg
def test_signature_of_a_subkey_does_not_count_for_two_parties(dossier, keyring):
    buyer = keyring["Buyer"]
    gpg("--passphrase", "", "--quick-add-key", buyer, "ed25519", "sign")
    listed = gpg("--with-colons", "--list-keys", buyer).stdout
    _, subkey = re.findall("^fpr:+([0-9A-F]{40}):", listed, re.MULTILINE)
    sign(dossier, f"gpg:{buyer}")
    assert verify(dossier, [buyer]).exit_status == 0
    assert verify(dossier, [subkey]).exit_status == 0
    assert verify(dossier, [buyer, subkey]).exit_status == 1


def gpg(*arguments, text=""):
    return subprocess.run(["gpg", "--batch", *arguments], input=text, check=True, capture_output=True, text=True)


def revoke(fingerprint):
    certificate = pathlib.Path(os.environ["GNUPGHOME"], f"openpgp-revocs.d/{fingerprint}.rev").read_text()
    gpg("--import", text=certificate.replace(":-----BEGIN", "-----BEGIN"))


def in_one_file(paths):
    return "".join(path.read_text() for path in paths)


def in_one_armour(paths):
    packets = b""
    for path in paths:
        packets += subprocess.run(["gpg", "--dearmor", "-o", "-", path], check=True, capture_output=True).stdout
    armoured = subprocess.run(["gpg", "--enarmor"], input=packets, check=True, capture_output=True).stdout
    return armoured.decode().replace("PGP ARMORED FILE", "PGP SIGNATURE")


@needs_gpg
@pytest.mark.parametrize("join", [in_one_file, in_one_armour])
def test_revoked_key_does_not_pass_beside_a_good_signature(dossier, keyring, join):
    buyer, vendor = keyring.values()
    paths = [dossier / sign(dossier, f"gpg:{key}", name) for name, key in keyring.items()]
    revoke(vendor)
    assert verify(dossier, [buyer, vendor]).exit_status == 1, "each signature in its own file"
    both = join(paths)
    for path in paths:
        path.unlink()
    (dossier / f"{MANIFEST}.asc").write_text(both)
    proof = verify(dossier, [vendor])
    assert proof.exit_status == 1
    assert f"not signed by {vendor}" in proof.problems
    assert not proof.good, "no signature of such a file counts"


@needs_gpg
@pytest.mark.parametrize(
    ("lifetime", "options"), [("2d", []), ("never", ["--default-sig-expire", "1d"])], ids=["key", "signature"]
)
def test_expired_key_or_signature_is_bad(dossier, keyring, lifetime, options):
    past = ["--faked-system-time", "20200101T000000", "--passphrase", "", "--armor", *options]
    gpg(*past, "--quick-generate-key", "old@example.org", "ed25519", "sign", lifetime)
    gpg(*past, "-u", "old@example.org", "-o", dossier / f"{MANIFEST}.asc", "--detach-sign", dossier / MANIFEST)
    proof = verify(dossier)
    assert (proof.exit_status, len(proof.problems)) == (1, 1)
    assert "has expired" in proof.problems[0]


@needs_gpg
@needs_minisign
@pytest.mark.parametrize("change", ["Accepted under reserve.\n{}", "{}Accepted under reserve.\n", "{0}{0}"])
@pytest.mark.parametrize("program", ["gpg", "minisign"])
def test_signature_file_with_other_text_is_bad(dossier, keyring, keys, change, program):
    name = sign(dossier, "gpg" if program == "gpg" else f"minisign:{keys['Buyer'][1]}")
    path = dossier / name
    path.write_text(change.format(path.read_text()))
    assert verify(dossier, [keys["Buyer"][0]] if program == "minisign" else []).exit_status == 1


@needs_gpg
@needs_minisign
def test_required_key_fails_if_its_signature_is_gone_or_cannot_be_checked(dossier, keyring, keys, monkeypatch):
    required = [keyring["Buyer"], keys["Vendor"][0]]
    names = [sign(dossier, f"gpg:{keyring['Buyer']}"), sign(dossier, f"minisign:{keys['Vendor'][1]}")]
    assert verify(dossier, required).exit_status == 0
    monkeypatch.setenv("PATH", "/nowhere")
    proof = verify(dossier, required)
    assert (proof.exit_status, len(proof.problems), len(proof.unchecked)) == (1, 2, 2)
    assert verify(dossier).exit_status == 2
    monkeypatch.undo()
    for name in names:
        (dossier / name).unlink()
    assert verify(dossier, required).exit_status == 1
    proof = verify(dossier)
    assert proof.exit_status == 2
    assert proof.unchecked == ["not signed: intact proves only that the files fit the manifest"]


@needs_gpg
def test_dossier_that_lost_one_of_two_signatures_is_not_proven(campaign, keyring):
    dossier = campaign.demand(parties={"buyer": "B", "vendor": "V"}).measure(9, 9, 9).dossier()
    names = [sign(dossier, f"gpg:{key}", name) for name, key in keyring.items()]
    assert verify(dossier).exit_status == 0
    (dossier / names[1]).unlink()
    proof = verify(dossier)
    assert (proof.exit_status, len(proof.unchecked)) == (2, 1)
    assert verify(dossier, [keyring["Buyer"]]).exit_status == 0, "the reader named who must sign"
