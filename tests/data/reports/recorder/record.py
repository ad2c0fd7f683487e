"""Records the reports that the tests read. Keeps ReFrame's output unchanged, except for keys that no report reads, and
for paths and names of the machine.

    python tests/data/reports/recorder/record.py                    # runs the tests beside this file
    python tests/data/reports/recorder/record.py --campaign FILE    # takes over a finished run of the embedded site
"""

import argparse
import getpass
import json
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[3]
SESSIONS = {
    "outcomes": ["-r", "-x", "(Flaky|Sleeps)", "--session-extras", "mode=nightly"],
    "retried": ["-r", "-n", "Flaky", "--max-retries", "1"],
    "dry-run": ["--dry-run", "-n", "Passes"],
    "stopped-early": ["-r", "-n", "(TooSlow|Sleeps)", "--maxfail", "1"],
}
UNREAD = (
    "build_", "dependencies_", "display_name", "env_vars", "exclusive_access", "executable", "extra_resources",
    "job_completion", "job_exitcode", "job_stderr", "job_submit", "hashcode", "keep_files", "local", "log_files",
    "maintainers", "max_pending", "modules", "num_cpus", "num_gpus", "num_tasks", "postbuild", "postrun", "prebuild",
    "prefix", "prerun", "programs", "readonly", "repeats", "scheduler", "session_uuid", "short_name", "sourcepath",
    "sourcesdir", "strict", "tags", "time_compile", "time_limit", "time_performance", "time_sanity", "time_setup",
    "traceback", "tunable", "unique_name", "use_multi", "valid_", "variables", "workdir",
)  # fmt: skip


def record(name: str, options: list[str]) -> None:
    """Run ReFrame on ``checks.py`` and keep its report."""
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder).resolve()
        shutil.copy(HERE / "checks.py", work)
        report = work / "report.json"
        subprocess.run(
            [
                *(sys.executable, "-c", "from reframe.frontend.cli import main; main()"),
                *("-C", HERE / "settings.py", "-c", work / "checks.py", "--prefix", work, f"--report-file={report}"),
                *options,
            ],
            cwd=work,
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(REPOSITORY)},
            check=False,  # most of these sessions fail on purpose
        )
        keep(name, json.loads(report.read_text(encoding="utf-8")), {str(work): "/results"})


def keep(name: str, document: Any, replacements: dict[str, str]) -> None:
    """Write the report without the keys that no report reads, and without names of this machine."""
    text = json.dumps(trimmed(document), separators=(",", ":")).replace('{"environ"', '\n{"environ"')
    replacements |= {str(HERE): "/suite", str(REPOSITORY): "/kappa", sys.prefix: "/venv"}
    replacements |= {f'"{socket.gethostname()}"': '"login1"', f'"{getpass.getuser()}"': '"operator"'}
    for found, instead in replacements.items():
        text = text.replace(found, instead)
    (HERE.parent / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def trimmed(value: Any, parent: str = "") -> Any:
    if isinstance(value, dict):
        items = [(key, item) for key, item in value.items() if parent == "provenance" or not key.startswith(UNREAD)]
        if parent == "files":
            items = items[:2]
        return {key: trimmed(item, key) for key, item in items}
    return [trimmed(item, parent) for item in value] if isinstance(value, list) else value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--campaign", metavar="FILE", type=pathlib.Path)
    options = parser.parse_args()
    if options.campaign:
        keep("campaign", json.loads(options.campaign.read_text(encoding="utf-8")), {})
    else:
        for name, arguments in SESSIONS.items():
            record(name, arguments)


if __name__ == "__main__":
    main()
