"""What tasks of a step need to meet: their names, files in a folder that all nodes share, and lines with checksums."""

import contextlib
import hashlib
import json
import os
import tempfile
import time

from kappa.node.files import entries, read


def task_and_tasks():
    """Return the task's number and the number of tasks. Outside of a step, Slurm's variables describe the job."""
    variable = os.environ.get
    if "SLURM_STEP_ID" not in os.environ:
        return 0, 1
    return int(variable("SLURM_PROCID", "0")), int(variable("SLURM_STEP_NUM_TASKS") or variable("SLURM_NTASKS") or 1)


def step_name():
    """Return a name of the step that no other step has, nor this one if the job starts again."""
    return ".".join(os.environ.get(name, "0") for name in ("SLURM_JOB_ID", "SLURM_RESTART_COUNT", "SLURM_STEP_ID"))


def publish(path, text):
    """Write the file atomically, readable by this user only."""
    handle, part = tempfile.mkstemp(".part", dir=os.path.dirname(path) or ".")  # a new file: no link is in the way
    with open(handle, "w") as stream:
        stream.write(text)
    os.rename(part, path)


def meet(folder, own, tasks, seconds):
    """Return node -> what it published, for all nodes that publish within ``seconds``."""
    os.makedirs(folder, exist_ok=True)
    deadline, published = time.monotonic() + seconds, {}
    while True:
        # Write it each time: a node's own change makes its network file system's client read the folder again.
        publish(os.path.join(folder, own["node"]), json.dumps(own))
        for name in set(entries(folder)).difference(published):
            with contextlib.suppress(ValueError):
                published[name] = json.loads(read(folder, name) or "" if not name.endswith(".part") else "")
        if len(published) >= tasks or time.monotonic() > deadline:
            return published
        time.sleep(max(0.1, tasks / 1000))


def receive(connection, count):
    """Return the next bytes of the connection.

    :raises OSError: it is closed before.
    """
    data = bytearray()
    while len(data) < count:
        part = connection.recv(count - len(data))
        if not part:
            raise OSError("connection closed")
        data += part
    return bytes(data)


def line_of(record):
    """Return the line of a record, which detects changes: JSON, a space, and its SHA-256."""
    data = json.dumps(record)
    return f"{data} {hashlib.sha256(data.encode()).hexdigest()}\n".encode("ascii")
