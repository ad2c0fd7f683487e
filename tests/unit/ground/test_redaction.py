"""Secrets, names and addresses are removed from text in every form in which they occur; all other text stays."""

import json

import pytest

from kappa.core.ground.redaction import Redaction
from kappa.core.ground.shown_names import shows_site_key, shows_variable

RANDOM = "Zx9QmT4vLr7WpK2sYd8BnC3hFg6J"
SECRET = "S3CR"


@pytest.mark.parametrize(
    "line",
    [
        f"HF_TOKEN: {SECRET}", f"   hf_token = '{SECRET}'", f"{{'password': '{SECRET}'}}",
        f"<password>{SECRET}</password>",
        f"--password {SECRET}", f"PGPASSWORD={SECRET} psql", f"postgres://u:{SECRET}@h/db",
        f"redis://:{SECRET}@h:6379", f"jdbc:mysql://h/db?user=a&password={SECRET}", f"Server=x;Password={SECRET};",
        f"X-Api-Key: {SECRET}", f"Set-Cookie: sid={SECRET}",
        f"curl -u bob:{SECRET} https://h", f"curl --user bob:{SECRET} https://h",
        f"curl -ubob:{SECRET} https://h", f"the passphrase is {SECRET}",
        f"setenv HF_HOME /{SECRET}/x", f"mpirun -x MYVAR={SECRET} ./a",
        f"mpirun -genv MYVAR {SECRET} ./a", f"srun --export=NONE,MYVAR={SECRET} ./a", f"cd /x && MYVAR={SECRET} ./a",
        f'declare -x MYVAR="{SECRET} {SECRET}"', f"#SBATCH -A {SECRET}", f"#SBATCH --account={SECRET}",
        f"clientSecret: {SECRET}", f"PSK={SECRET}", f"munge key: {SECRET}",
        f"//registry/:_authToken={SECRET}", f"hf_{SECRET}abcdefghijkl",
        f"sk-ant-api03-{SECRET}abcdef",
        f"https://outlook.example/webhook/{SECRET}/x", f"scp -i ~/.ssh/{SECRET} a b", f"ssh -i /k/{SECRET}.pem node1",
    ],
)  # fmt: skip
def test_secret_in_a_line_is_removed(line):
    assert SECRET not in Redaction().text(f"before 1.5\n{line}\nafter 2.5", "out")


def test_secret_longer_than_a_piece_of_a_line_is_removed_to_its_end():
    assert SECRET not in Redaction().text(f"passphrase: {'correct horse ' * 500}{SECRET}\nafter", "out")


@pytest.mark.parametrize(
    "line", [RANDOM + RANDOM, f"AccountKey={RANDOM}12==", f"ssh-ed25519 AAAAC3NzaC1{RANDOM}", RANDOM]
)
def test_random_text_is_removed(line):
    assert RANDOM not in Redaction().text(f"x {line} y", "out")


@pytest.mark.parametrize(
    "line",
    [
        "/lustre/home/carol/x", "/Users/carol", "carol@login2:~$ ls", "mail carol@uni.example", "UserId=carol(1003) x",
        "submitted for user carol", "carol     pts/0        2026-11-22 10:00", "uid=1003(carol) gid=100(users)",
        "  4243 cpu bash carol PD 0:00 1 (Priority)", "-rw-r--r-- 1 carol staff 12 Nov 1 a", "SLURM_JOB_USER=carol",
        "USER       PID COMMAND\ncarol        12 ./a", "JobID|User|State\n12|carol|FAILED", '{"owner": "carol"}',
    ],
)  # fmt: skip
def test_name_of_a_user_is_replaced_there_and_in_other_places(line):
    shown = Redaction().text(f"{line}\ncarol, carol_2.log and x/carol.out\n", "out")
    assert "carol" not in shown


@pytest.mark.parametrize(
    "document",
    [
        {"password": SECRET}, {"Authorization": f"Bearer {SECRET}"}, {"token": {"a": {"b": SECRET}}}, {"pin": 47110815},
        {"name": "DB_PASSWORD", "value": SECRET}, ["--password", SECRET],
        [["api_token", SECRET]], {"env": [f"MYVAR={SECRET}"]}, {"environment": [{"name": "MYVAR", "value": SECRET}]},
        {"env_vars": [["MYVAR", SECRET]]}, {"env": {"MYVAR": SECRET}}, {"cmd": f"srun --password {SECRET} ./a"},
        {"auths": {"h": {"auth": SECRET}}}, {"password": {"value": [SECRET]}},
    ],
)  # fmt: skip
def test_secret_in_a_document_is_removed(document):
    shown = json.dumps(Redaction().value(document))
    assert SECRET not in shown and "47110815" not in shown


@pytest.mark.parametrize(
    "text",
    [
        "# OSU MPI Latency Test v7.3\n1       2.19\n2097152   12019.77\n", "gcc@12.2.0 openmpi@4.1.4%gcc@12.2.0\n",
        "srun: error: node2: task 1: Segmentation fault\n", "tokens/s: 512.5\nkeys: 3\nprefill_tokens: 12\n",
        "[node1:27856] /lib/libOpenFOAM.so(_ZN4Foam5error5abortEv+0x1fc)[0x7fd41a55906c]\n",
        "SingleDGEMM_Gflops=58.9057\n",
        "export OMP_NUM_THREADS=4\nSLURM_NTASKS=64\nUCX_TLS=rc,sm\nOMPI_MCA_pml=ucx\n", "at 12:30:45 on 127.0.0.1\n",
        "Outcome of OsuBandwidth_f106debc/rfm_job.out in /kappa/output/embedded/gpu/packaged/OsuBandwidth_f106debc\n",
        'before {"bw": 7.5} after\n{"bw": 7.5,\n   "node": "node1"}\n', "NX=4 NB=192\nMaxNodes=1 LLN=NO Arch=x86_64\n",
    ],
)  # fmt: skip
def test_output_of_programs_stays_as_it_is(text):
    assert Redaction().text(text, "out") == text


def test_hash_stays_where_a_key_or_a_label_says_so():
    digest = "fc79aeca5b6b1379215e7dd5e3f47890d8333a747a1fc96a4bd9a93819504c46"
    redaction = Redaction()
    assert redaction.value({"sha256": digest, "files": {"/a": digest}}) == {"sha256": digest, "files": {"/a": digest}}
    assert digest in redaction.text(f"the record's {digest}", "out")
    assert digest in Redaction().text(f"sha256={digest}", "out")
    assert digest not in Redaction().text(f"wandb {digest}", "out")


def test_numbers_of_a_variable_are_shown_and_its_names_are_not():
    assert shows_variable("SLURM_NTASKS", "64") and shows_variable("UCX_TLS", "rc")
    assert not shows_variable("SLURM_JOB_ACCOUNT", "chem")
    assert not shows_variable("HOME", "/x")


def test_key_of_names_of_a_site_is_shown_as_a_list_only():
    assert shows_site_key("environments", ["system"]) and not shows_site_key("environments", {"system": {}})
    assert Redaction().site_value({"partitions": {"cpu": {"nodes": 4, "note": "x"}}, "pin": 4711}) == {
        "partitions": {"cpu": {"nodes": 4, "note": "REDACTED"}}, "pin": "REDACTED",
    }  # fmt: skip
