#!/usr/bin/env python3
"""Time calls on files in a folder of this node; print the times as a line of JSON and its SHA-256.

usage: file_calls.py FOLDER SECONDS READS

For SECONDS each: writes of 4 KiB with fsync; create, stat and remove of files. Then up to READS reads of 4 KiB in about
SECONDS, whose bytes are compared. A failed call is counted, and the program continues. Runs on Python 3.6, which old
systems bring.
"""

import collections
import hashlib
import json
import os
import statistics
import sys
import time

BLOCK, BLOCKS, LEAST = 4096, 1024, 3


class Calls:
    def __init__(self, folder, seconds):
        self.path, self.seconds = os.path.join(folder, "kappa_calls"), seconds
        self.failed = collections.Counter()

    def tried(self, name, call, *arguments):
        """Return the result of the call; count a failure and return None."""
        try:
            return call(*arguments)
        except OSError as error:
            self.failed[f"{name}: {error.strerror}"] += 1
            return None

    def timed(self, once):
        """Call ``once`` for ``seconds``, at least ``LEAST`` times; return the milliseconds of each call."""
        took, began = [], time.perf_counter()
        while len(took) < LEAST or time.perf_counter() - began < self.seconds:
            start = time.perf_counter()
            once()
            took.append((time.perf_counter() - start) * 1e3)
        return took

    def synced(self, file):
        if self.tried("write", os.pwrite, file, self.block(0), 0) is not None:
            self.tried("fsync", os.fsync, file)

    def made_and_removed(self):
        path = self.path + ".new"
        file = self.tried("create", os.open, path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        if file is not None:
            os.close(file)
            self.tried("stat", os.stat, path)
            self.tried("unlink", os.unlink, path)

    def block(self, number):
        return number.to_bytes(8, "little") * (BLOCK // 8)

    def reads(self, file, wanted):
        """Return the number of reads: ``wanted``, or fewer if the time is up after ``BLOCKS`` reads."""
        for number in range(BLOCKS):
            self.tried("write", os.pwrite, file, self.block(number), number * BLOCK)
        self.tried("fsync", os.fsync, file)
        # The first read of each block then comes from the device.
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        done, deadline = 0, time.perf_counter() + self.seconds
        while done < wanted and (done < BLOCKS or time.perf_counter() < deadline):
            number = done % BLOCKS
            found = self.tried("read", os.pread, file, BLOCK, number * BLOCK)
            if found is not None and found != self.block(number):
                self.failed["read: the bytes differ from the written bytes"] += 1
            done += 1
        return done


def told(folder, seconds, wanted):
    calls = Calls(folder, seconds)
    fsyncs, files, reads = [], [], 0
    file = calls.tried("create", os.open, calls.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    if file is not None:
        fsyncs = calls.timed(lambda: calls.synced(file))
        files = calls.timed(calls.made_and_removed)
        reads = calls.reads(file, wanted)
        os.close(file)
        calls.tried("unlink", os.unlink, calls.path)
    return {
        "node": os.environ.get("SLURMD_NODENAME") or os.uname().nodename.partition(".")[0],
        "fsyncs": len(fsyncs),
        "fsync_ms": round(statistics.median(fsyncs), 4) if fsyncs else None,
        "files": len(files),
        "file_ms": round(statistics.median(files), 4) if files else None,
        "reads": reads,
        "failed": dict(calls.failed.most_common(4)),
    }


if __name__ == "__main__":
    line = json.dumps(told(sys.argv[1], float(sys.argv[2]), int(sys.argv[3])))
    print(line, hashlib.sha256(line.encode()).hexdigest(), flush=True)
