"""Pack the program for the nodes as a zipapp: one file, for Python 3.6 and the standard library alone."""

import base64
import functools
import io
import shlex
import zipfile
from importlib import resources

from kappa.node import PROGRAM

_PACKAGE = resources.files("kappa.node")
# This module runs on the machine that packs.
NOT_PACKED = {"packed.py"}
# The first words say why an old interpreter cannot run the rest, which it cannot parse.
_MAIN = """\
import sys
if sys.version_info < (3, 6):
    sys.exit("kappa-node: expected Python 3.6 or later, found %s: %s" % (sys.version.split()[0], sys.executable))
from kappa.node.command import main
sys.exit(main())
"""
# Without a path to a user's packages or to the working folder, which may be on a shared file system.
_PYTHON = 'python=/usr/bin/python3; [ -x "$python" ] || python=python3; exec "$python" -I -S'
# Runs the program from the first line of standard input. A pipe cannot be opened as an archive.
_FROM_INPUT = """\
import base64, io, sys, zipfile
from importlib.machinery import ModuleSpec
archive = zipfile.ZipFile(io.BytesIO(base64.b64decode(sys.stdin.buffer.readline())))
names = set(archive.namelist())
class Loader:
    def find_spec(self, name, path, target=None):
        self_name = name.replace(".", "/")
        for file in (self_name + ".py", self_name + "/__init__.py"):
            if file in names:
                return ModuleSpec(name, self, origin=file, is_package=file.endswith("/__init__.py"))
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        exec(compile(archive.read(module.__spec__.origin), module.__name__, "exec"), vars(module))
sys.meta_path.insert(0, Loader())
exec(archive.read("__main__.py"))
"""


@functools.cache
def program() -> bytes:
    """Return the zipapp, equal for equal sources. As a shell script, it starts itself with the node's Python."""
    buffer = io.BytesIO()
    buffer.write(f'#!/bin/sh\n{_PYTHON} "$0" "$@"\n'.encode())
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        texts = {"__main__.py": _MAIN, "kappa/__init__.py": ""}
        for folder in ("", "facts/", "watch/"):
            for file in sorted(_PACKAGE.joinpath(folder).iterdir(), key=lambda file: file.name):
                if file.name.endswith(".py") and file.name not in NOT_PACKED:
                    texts[f"kappa/node/{folder}{file.name}"] = file.read_text("utf-8")
        for name, text in texts.items():
            archive.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def from_input(*words: str) -> tuple[list[str], str]:
    """Return a command that needs no file on the node, and the line that it must get first on standard input."""
    shell = f'{_PYTHON} -c {shlex.quote(_FROM_INPUT)} "$@"'
    return ["sh", "-c", shell, PROGRAM, *words], base64.b64encode(program()).decode() + "\n"
