"""Ten runs as on real clusters have planted secrets in every place; the bundle has none of them, and all figures."""

import base64
import json
import tarfile
import time

import pytest

from kappa.app.command.main import main
from kappa.core.ground.redaction import Redaction
from kappa.core.sites.load import Site
from tests.unit.reports.samples import complete, latency

# Random texts as the owners of the services make them; none of them was ever valid.
RANDOM = "Xq7ZpL2vN9sT4wKdR8mYcB3fHj6G"
PEM_BODY = "\n".join(f"MIIEpAIBAAKCAQEA{n}{RANDOM}{RANDOM[::-1]}" for n in range(9))
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{PEM_BODY}\n-----END RSA PRIVATE KEY-----"
PEM_BASE64 = base64.b64encode(PEM.encode()).decode()
SHA256 = "fc79aeca5b6b1379215e7dd5e3f47890d8333a747a1fc96a4bd9a93819504c46"
SPACK = "ksegdsiqxdjjptrm2dj57b5nhvl767gb"
SQUEUE = (
    "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)\n"
    "              4242       cpu interact  carolyn  R    1:23:45      1 node3\n"
    "              4243       cpu  my  job    dmitri PD       0:00      2 (Priority)\n"
)
SACCT = "JobID|User|Account|State\n4244|eleonora|chem77|COMPLETED\n"
SCONTROL = (
    "JobId=4245 JobName=a\n   UserId=fridolin(1004) GroupId=staff(100) MCS_label=N/A\n   Account=astro42 QOS=normal\n"
)
PS = "USER       PID %CPU COMMAND\ngiuseppe  1234  0.1 ./a.out\n"

# Files of the case of each run: (name, text, secrets in it, texts that must stay).
RUNS: dict[str, list[tuple[str, str, list[str], list[str]]]] = {
    "job script": [
        (
            "rfm_job.sh",
            "#!/bin/bash\n#SBATCH --account=proj9931\n#SBATCH --mail-user=hanna@uni.example\n#SBATCH --ntasks=4\n"
            "export HF_TOKEN=tok-plain-word\nexport OMP_NUM_THREADS=4\nexport OMPI_MCA_pml=ucx\n"
            "export SITE_BANNER='the owl flies late'\nexport WANDB_API_KEY=0123abcd4567ef890123abcd4567ef8901234567\n"
            "srun --ntasks=4 --export=ALL,DB_PASSWORD=pw4srun ./osu_latency\n"
            "sshpass -p letmein9 scp -i /home/ivan/.ssh/id_ed25519 out ivan@login1:\n",
            ["proj9931", "hanna", "tok-plain-word", "owl flies", "0123abcd4567", "pw4srun", "letmein9", "id_ed25519",
             "ivan"],
            ["#SBATCH --ntasks=4", "OMP_NUM_THREADS=4", "OMPI_MCA_pml=ucx", "srun --ntasks=4", "./osu_latency"],
        )
    ],
    "environment": [
        (
            "rfm_job.out",
            "SLURM_NTASKS=64\nSLURM_JOB_NODELIST=node[1-2]\nSLURM_JOB_USER=jolanda\nSLURM_JOB_ACCOUNT=bio5512\n"
            "DB_PASSWORD=correct horse battery\nHOME=/home/jolanda\nGREETING=psst the goose is grey\n"
            "UCX_TLS=rc,sm\nUCX_NET_DEVICES=mlx5_0:1\nAWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCY\n"
            "AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE\nDOCKER_AUTH=b3duZXI6cGFzcw\n1       2.19\n2097152   12019.77\n",
            ["jolanda", "bio5512", "horse battery", "goose is grey", "wJalrXUtn", "bPxRfiCY", "IOSFODNN7", "b3duZXI6"],
            ["SLURM_NTASKS=64", "node[1-2]", "UCX_TLS=rc,sm", "UCX_NET_DEVICES=mlx5_0:1", "2097152   12019.77"],
        )
    ],
    "JSON of a program": [
        (
            "result.json",
            json.dumps({
                "password": "pw in json", "auth": {"user": "konstantin", "value": ["inner-secret-1"]},
                "settings": [{"name": "DB_PASSWORD", "value": "split-key-value"}, ["api_token", "pairwise-secret"]],
                "argv": ["prog", "--password", "argv-pw", "--size", "4"], "pin": "4711-0815",
                "env": {"HF_TOKEN": "env-json-secret", "OMP_PLACES": "cores", "FAVOURITE": "blue-parrot"},
                "bandwidth": 12019.77, "tokens_per_s": 512.5, "sha256": SHA256, "spec": {"hash": SPACK},
                "escaped": "\\u0068f_" + RANDOM, "user_name": "lucrezia", "node": "node2",
            }, indent=2).replace("\\\\u", "\\u"),
            ["pw in json", "konstantin", "inner-secret-1", "split-key-value", "pairwise-secret", "argv-pw",
             "4711-0815", "env-json-secret", "blue-parrot", RANDOM, "u0068f_", "lucrezia"],
            ["12019.77", "512.5", SHA256, SPACK, '"OMP_PLACES": "cores"', '"--size"', "node2"],
        ),
        (
            "lines.jsonl",
            'before {"password": "inline-pw"} after 1.5 GB/s\n{"name": "token", "value": "jsonl-secret", "bw": 3.25}\n'
            '{"bw": 7.5, "node": "node1"}\n[damaged {"secret": "half-doc\n',
            ["inline-pw", "jsonl-secret", "half-doc"],
            ["after 1.5 GB/s", "3.25", '{"bw": 7.5, "node": "node1"}'],
        ),
    ],
    "standard error": [
        (
            "rfm_job.err",
            f"curl -H 'Authorization: Bearer bearer-secret-1' -u matteo:curlpw https://api.example/v1?token=querytok&x=1\n"
            f"git clone https://oauth2:giturlpw@git.example/x\nhf_{'a' * 34}\nsk-proj-{RANDOM} xoxb-12-56-{RANDOM}\n"
            f"ghp_{RANDOM}12345678 glpat-{RANDOM} npm_{RANDOM} AIza{RANDOM}\n"
            "https://hooks.slack.com/services/T0AB/B0CD/webhooksecret https://chat.example/hooks/mattermostsecret\n"
            "https://discord.com/api/webhooks/123/discordsecret\nslurmstepd: error: *** STEP ON node2 CANCELLED ***\n"
            "mysql: the password is Tr0ub4dor&3 for now\n",
            ["bearer-secret-1", "matteo", "curlpw", "querytok", "giturlpw", "aaaaaaaa", RANDOM, "webhooksecret",
             "mattermostsecret", "discordsecret", "Tr0ub4dor"],
            ["slurmstepd: error: *** STEP ON node2 CANCELLED ***"],
        )
    ],
    "Slurm's tables": [
        ("queue.txt", SQUEUE + "\n" + SACCT + "\n" + SCONTROL + "\n" + PS,
         ["carolyn", "dmitri", "eleonora", "chem77", "fridolin", "astro42", "giuseppe"],
         ["4242", "1:23:45", "node3", "(Priority)", "COMPLETED", "QOS=normal"]),
        ("later.txt", "dmitri was here, and carolyn_2 had job 4242\n", ["dmitri", "carolyn"], ["had job 4242"]),
        ("slurm-dmitri-4243.out", "bandwidth 3.5 GB/s\n", [], ["bandwidth 3.5 GB/s"]),
    ],
    "private keys": [
        ("key.out", f"before\n{PEM}\nafter\n", [RANDOM, RANDOM[::-1]], ["before\n", "after"]),
        ("encoded.out", f"key={PEM_BASE64}\n", [PEM_BASE64[40:80], PEM_BASE64[-40:]], []),
        ("wrapped.out", "\n".join(PEM_BASE64[n : n + 76] for n in range(0, len(PEM_BASE64), 76)) + "\n",
         [PEM_BASE64[10:40], PEM_BASE64[160:190], PEM_BASE64[-9:]], []),
        ("one_line.json", json.dumps({"note": PEM, "bw": 4.5}), [RANDOM], ["4.5"]),
        ("id_rsa", "short-key-file\n", ["short-key-file"], []),
        (".netrc", "machine h login nadia password netrcpw\n", ["nadia", "netrcpw"], []),
        ("jwt.txt", f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.{RANDOM} in 3 s\n", ["eyJhbGci", RANDOM], ["in 3 s"]),
    ],
    "names of files": [
        (f"ghp_{RANDOM}00000000.txt", "x 1\n", [RANDOM], ["x 1"]),
        ("results_oskar.txt", "/home/oskar/run by oskar: 5.5 GB/s\n", ["oskar"], [": 5.5 GB/s"]),
        ("oskar/out.log", "on node1 6.5 GB/s\n", ["oskar"], ["on node1 6.5 GB/s"]),
    ],
    "YAML of a program": [
        (
            "config.yaml",
            "database: {user: petronella, password: yaml-pw-1}\nsteps: 400\n"
            "nodes: [node1, node2] # password comment-pw\n"
            "env:\n  HF_TOKEN: yaml-env-tok\n  OMP_NUM_THREADS: 8\nsecret: |\n  multi-line-secret-a\n"
            "  multi-line-secret-b\n",
            ["petronella", "yaml-pw-1", "comment-pw", "yaml-env-tok", "multi-line-secret-a", "multi-line-secret-b"],
            ["steps: 400", "node1", "node2", "OMP_NUM_THREADS: 8"],
        ),
        ("broken.yml", "a: [\nHF_TOKEN: broken-yaml-tok\nsteps: 3\n", ["broken-yaml-tok"], ["steps: 3"]),
    ],
    "told elsewhere": [
        ("a.txt", "connecting with hunter2-elsewhere to node2\n", ["hunter2-elsewhere"], ["to node2"]),
        ("b.txt", "DB_PASSWORD: hunter2-elsewhere\n", ["hunter2-elsewhere"], ["DB_PASSWORD"]),
        ("c.txt", "drwxr-xr-x 2 quirin staff 4096 Nov 1 data\nuid=1007(rosalinde) gid=100(users)\nsven@node1:~$ ls\n",
         ["quirin", "rosalinde", "sven"], ["4096", "node1"]),
    ],
    "hashes": [
        ("provenance.txt", f"hostname=node1\nkernel=Linux 6.18.44\nsha256={SHA256}  /apps/bin/osu_latency\n", [],
         ["hostname=node1", "kernel=Linux 6.18.44", SHA256]),
        ("spec.txt", f"openmpi@4.1.4%gcc@12.2.0 /{SPACK}\n9e107d9d372bb6826bd81d3542a419d6e4d909c290d0fb1c\n",
         ["9e107d9d372bb6826bd8"], ["openmpi@4.1.4%gcc@12.2.0", SPACK]),
    ],
}  # fmt: skip
SITE = """\
descr: a cluster
format: 2
path: [/opt/slurm/bin]
env_vars: {HF_TOKEN: site-env-token, OMPI_MCA_pml: ucx, LM_LICENSE_FILE: 27000@licence-host}
partitions:
  cpu:
    nodes: 4
    features: [network]
    environments: [system]
    cores: {per_node: 48}
    access: [--account=siteproj7]
    prepare_cmds: ["export VAULT=site-prepare-secret"]
environments: {system: {features: [osu], env_vars: {DB_PASSWORD: site-env-pw, UCX_TLS: rc}, rendezvous: {UCX_RNDV: 64}}}
notify: {webhook: "https://hooks.example/services/site-webhook", mail: theodora@uni.example, note: site-free-note}
"""
SITE_SECRETS = ("site-env-token", "licence-host", "siteproj7", "site-prepare-secret", "site-env-pw", "site-webhook",
                "theodora", "site-free-note")  # fmt: skip
SITE_KEPT = ("OMPI_MCA_pml: ucx", "per_node: 48", "- network", "UCX_TLS: rc", "UCX_RNDV: 64", "nodes: 4")


def a_run(folder, files):
    stage = folder / "stage/embedded/cpu/OsuLatency_1"
    for name, text, _, _ in files:
        (stage / name).parent.mkdir(parents=True, exist_ok=True)
        (stage / name).write_text(text)
    failed = latency(value=900, stagedir=str(stage), job_stdout="rfm_job.out", job_stderr="rfm_job.err", jobid="7")
    failed["env_vars"] = {"HF_TOKEN": "record-token", "OMP_PROC_BIND": "close", "MOTTO": "record-motto"}
    failed["hint"] = "ask ulrike at ulrike@login1, --password record-pw"
    failed["provenance"] |= {"sha256": SHA256}
    document = complete(failed)
    document["session_info"] |= {
        "prefix_stage": f"{folder}/stage", "user": "alice", "cmdline": "reframe -S A.api_token=record-option -r",
    }  # fmt: skip
    (folder / "run-report.json").write_text(json.dumps(document))
    return folder


RECORD_SECRETS = ("record-token", "record-motto", "ulrike", "record-pw", "record-option", "alice")


@pytest.fixture
def site(tmp_path, monkeypatch):
    """The bundle's site: its description has secrets in allowed and other places."""
    folder = tmp_path / "site_of_secrets"
    (folder / "references").mkdir(parents=True)
    (folder / "site.yaml").write_text(SITE)
    (folder / "expected.yaml").write_text("not_provided: {rails: 'one adapter, password expected-pw1'}\n")
    (folder / "references/network.yaml").write_text("OsuLatency: {latency_8B: [500, null, 0, us]}\n")
    monkeypatch.setattr(Site, "path", str(folder))
    return folder


def packed(run, tmp_path):
    target = tmp_path / "ticket.tar.gz"
    assert main(["bundle", str(run), "1", "-o", str(target)]) == 0
    with tarfile.open(target) as archive:
        return {one.name: archive.extractfile(one).read().decode() for one in archive.getmembers()}


def test_there_are_enough_secrets():
    secrets = {secret for files in RUNS.values() for _, _, planted, _ in files for secret in planted}
    assert len(RUNS) == 10
    assert len({*secrets, *SITE_SECRETS, *RECORD_SECRETS}) >= 80


@pytest.mark.parametrize("kind", RUNS)
def test_no_planted_secret_is_in_the_archive_and_all_figures_are(kind, site, tmp_path):
    run = a_run(tmp_path / "runs/20261122T100000-nightly", RUNS[kind])
    found = packed(run, tmp_path)
    everything = "\n".join([*found, *found.values()])
    planted = [secret for _, _, secrets, _ in RUNS[kind] for secret in secrets]
    planted += [*SITE_SECRETS, *RECORD_SECRETS, "expected-pw1"]
    assert [secret for secret in planted if secret in everything] == []
    kept = [text for _, _, _, texts in RUNS[kind] for text in texts]
    kept += [*SITE_KEPT, SHA256, "node1", "one adapter", "Linux 6.18.44", "- 500"]
    assert [text for text in kept if text not in everything] == []


def test_list_of_redactions_and_names_of_files_have_no_secret(site, tmp_path):
    found = packed(a_run(tmp_path / "runs/20261122T100000-nightly", RUNS["private keys"]), tmp_path)
    listed = found["bundle-1/REDACTED.txt"]
    assert listed.count(": a file for secrets\n") == 2
    assert ".netrc: a file for secrets" in listed
    assert "site/site.yaml: comments left out, 1 time" in listed
    assert "key.out: REDACTED, 1 time" in listed


@pytest.mark.parametrize("kind", ["environment", "standard error"])
def test_report_page_shows_output_with_the_same_redaction(kind, tmp_path):
    run = a_run(tmp_path / "runs/20261122T100000-nightly", RUNS[kind])
    page = tmp_path / "report.html"
    main(["show", "--format=page", str(run), "-o", str(page)])
    text = page.read_text()
    planted = [secret for _, _, secrets, _ in RUNS[kind] for secret in secrets]
    assert [secret for secret in planted if secret in text] == []
    assert "REDACTED" in text


def test_two_files_whose_names_differ_in_a_secret_are_both_packed(site, tmp_path):
    files = [(f"ghp_{RANDOM}0000000{number}.txt", f"x {number}\n", [], []) for number in (1, 2)]
    found = packed(a_run(tmp_path / "runs/20261122T100000-nightly", files), tmp_path)
    assert {"x 1\n", "x 2\n"} <= set(found.values())


def test_record_that_is_nested_too_deeply_is_packed_without_its_depth(tmp_path):
    nested: list[object] = ["hunter2-deep"]
    for _ in range(5000):
        nested = [nested]
    assert "hunter2-deep" not in str(Redaction().value({"evidence": nested, "bandwidth": 4.5}).keys())
    assert Redaction().value({"evidence": nested, "bandwidth": 4.5})["bandwidth"] == 4.5


@pytest.mark.parametrize(
    "text",
    ["".join(f"/home/u{n}/x by u{n}\n" for n in range(30_000)), "token" * 100_000, "[{\n" * 150_000, '{"a":\n' * 80_000,
     "eyJ" * 150_000, "a@" * 200_000, "/home/" * 80_000, "USER PID CMD\n 1 a b\n" * 25_000, "key quotes'\"`" * 40_000],
)  # fmt: skip
def test_time_grows_with_the_length_of_the_text(text):
    begin = time.process_time()
    redaction = Redaction(["alice"])
    redaction.text(text, "out")
    # The text is half a megabyte. Each of these took more than this, or did not end, with one pattern of all users.
    assert time.process_time() - begin < 30
