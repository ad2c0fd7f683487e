"""The ``spack.lock`` of the environment that ran goes with the results: it says how each program was built."""

import hashlib
import pathlib

from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.whole_files import write_atomically
from reports.acceptance.campaign import Attempt

LOCK = "spack.lock"


def keep_spack_lock(attempt: Attempt) -> None:
    """Copy it beside the attempt's results, if it still is the one that the job saw.

    :raises InputError: it cannot be written.
    """
    hashes = {path: digest for case in attempt.cases for path, digest in case.provenance.files.items()}
    for name, digest in hashes.items():
        path = pathlib.Path(name)
        # The name comes from a job: nothing but the very text with this hash is taken.
        if path.name != LOCK or not path.is_file():
            continue
        try:
            content = path.read_bytes()
            if hashlib.sha256(content).hexdigest() == digest:
                write_atomically(attempt.folder / LOCK, content.decode())
        except (OSError, UnicodeDecodeError) as err:
            raise InputError(f"cannot keep {clean(name)}: {err}") from err
