"""Pack the evidence for one finding into an archive for a vendor's ticket: the raw output of the measurements, the
record, the site's files, versions, and the commands that repeat it.

Kappa removes user names, addresses and secrets, also from names of files. An environment variable or a key of the
site's files has its value only if it explains performance. The archive keeps the names of nodes. Its REDACTED.txt lists
what was redacted in each file, and which files were left out. Read the archive before you send it: Kappa cannot know
everything that is private.

FINDING is a suspect node, a check, a case, or the number of a failure in the verdict's list.

Exit status: 0 written, 2 there is no such finding or the run cannot be used.

examples:
  kappa bundle results/mycluster/runs/20261122T020000-nightly node17
  kappa bundle mycluster 1 -o ticket.tar.gz
"""

import argparse
import io
import pathlib
import tarfile

from kappa.app.command.arguments import CommandParser, add_run
from kappa.core.ground.clean_text import clean
from kappa.core.ground.figures import counted
from kappa.core.ground.whole_files import written_beside


def add_arguments(to: CommandParser) -> None:
    to.describe(__doc__, run)
    add_run(to)
    to.add_argument("finding", metavar="FINDING", help="a suspect node, a check, a case, or the number of a failure")
    to.add_argument(
        "-o", "--output", metavar="FILE", type=pathlib.Path, help="the archive (default: ./bundle-FINDING.tar.gz)"
    )


def run(options: argparse.Namespace) -> int:
    from reports.bundle.contents import chosen, contents
    from reports.verdict.stored import judge_report

    verdict = judge_report(options.run, options.site, options.mode)
    cases = chosen(verdict, options.finding)
    name = "".join(char if char.isalnum() or char in "._-" else "_" for char in f"bundle-{options.finding}")[:80]
    target = options.output or pathlib.Path(f"{name}.tar.gz")
    texts = contents(verdict, cases)
    with written_beside(target) as file, tarfile.open(fileobj=file, mode="w:gz") as archive:
        for path, text in sorted(texts.items()):
            content = text.encode("utf-8")
            # No owner and no time: they would show who made the archive.
            entry = tarfile.TarInfo(f"{name}/{path}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    print(
        f"{clean(str(target))}: {counted(len(cases), 'case')}, {counted(len(texts), 'file')};"
        " its REDACTED.txt lists what Kappa removed"
    )
    return 0
