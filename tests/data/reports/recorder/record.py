"""Records the reports that the unit tests read: ``python tests/data/reports/recorder/record.py``, with ReFrame installed.

What ReFrame wrote is kept as it is, but for keys that no report reads, and for paths and names of this machine.
"""

import getpass
import json
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[3]
SESSIONS = {
    "outcomes": ["-r", "-x", "(Flaky|Sleeps)", "--session-extras", "mode=nightly"],
    "retried": ["-r", "-n", "Flaky", "--max-retries", "1"],
    "dry-run": ["--dry-run", "-n", "Passes"],
    "stopped-early": ["-r", "-n", "(TooSlow|Sleeps)", "--maxfail", "1"],
}
UNREAD = (
    "build_", "dependencies_", "env_vars", "exclusive_access", "extra_resources", "keep_files", "local", "maintainers",
    "log_files", "modules", "num_cpus", "num_gpus", "num_tasks", "prebuild", "postbuild", "prerun", "postrun", "readonly", "sourcepath", "sourcesdir", "strict", "tags", "time_limit",
    "use_multi", "valid_", "variables", "max_pending", "prefix", "hashcode", "short_name", "job_completion", "job_submit",
    "session_uuid", "traceback",
)  # fmt: skip


def main() -> None:
    for name, options in SESSIONS.items():
        with tempfile.TemporaryDirectory() as folder:
            work = pathlib.Path(folder).resolve()
            shutil.copy(HERE / "checks.py", work)
            report = work / "report.json"
            subprocess.run(
                [
                    sys.executable, "-c", "from reframe.frontend.cli import main; main()",
                    *("-C", HERE / "settings.py", "-c", work / "checks.py", "--prefix", work, f"--report-file={report}"),
                    *options,
                ],
                cwd=work,
                env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(REPOSITORY)},
                check=False,
            )
            text = json.dumps(_trimmed(json.loads(report.read_text(encoding="utf-8"))), indent=1)
        for found, instead in ((str(work), "/results"), (str(HERE), "/suite"), (sys.prefix, "/venv")):
            text = text.replace(found, instead)
        for found, instead in ((socket.gethostname(), "login1"), (getpass.getuser(), "operator")):
            text = text.replace(f'"{found}"', f'"{instead}"')
        (HERE.parent / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def _trimmed(value: object) -> object:
    if isinstance(value, dict):
        return {key: _trimmed(item) for key, item in value.items() if not key.startswith(UNREAD)}
    return [_trimmed(item) for item in value] if isinstance(value, list) else value


if __name__ == "__main__":
    main()
