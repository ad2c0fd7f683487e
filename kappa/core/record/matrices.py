"""Keep a figure for every pair of nodes: small matrices in the report, large ones in a compact file beside it.

A matrix of a thousand nodes needs 20 MB as text and 4 MB in a file. The file is NumPy's archive of one array of 32-bit
floats. Its name is its SHA-256, so that no file replaces another and damage is noticed.
"""

import hashlib
import io
import pathlib
import zipfile
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.whole_files import make_folder, read_bytes, written_beside
from kappa.core.record.evidence import Matrix, MatrixFile

Floats = NDArray[np.float64]

# Up to this number of nodes the report itself contains the values, so that it is complete without the file. The page
# names the pairs of so many nodes one by one.
INLINE_NODES = 64
_HEADER_BYTES = 4096  # of NumPy's file and the archive's, at most


def recorded(
    unit: str, nodes: Sequence[str], values: Floats, folder: pathlib.Path, of: Literal["nodes", "groups of nodes"]
) -> Matrix:
    """Return the matrix for the report; write a large one to a file in ``folder``.

    :param values: n x n, NaN for no figure.

    :raises InputError: the file cannot be written.
    :raises ValueError: ``values`` does not have one row and one column for each node.
    """
    inline = tuple(tuple(None if np.isnan(value) else float(value) for value in row) for row in values[:INLINE_NODES])
    if len(nodes) <= INLINE_NODES or values.shape != (len(nodes), len(nodes)):
        return Matrix(unit, tuple(nodes), inline, of=of)
    content = io.BytesIO()
    np.savez_compressed(content, values=values.astype(np.float32))
    sha256 = hashlib.sha256(content.getbuffer()).hexdigest()
    name = f"{sha256[:32]}.npz"
    make_folder(folder)
    with written_beside(folder / name) as file:
        file.write(content.getbuffer())
    known = values[np.isfinite(values)]
    lowest, median, highest = map(float, np.quantile(known, [0, 0.5, 1])) if known.size else (None, None, None)
    missing = int(np.isnan(values).sum() - np.isnan(np.diagonal(values)).sum())
    return Matrix(unit, tuple(nodes), file=MatrixFile(name, sha256, lowest, median, highest, missing), of=of)


def values_of(matrix: Matrix, folders: Sequence[str]) -> Floats:
    """Return the values, n x n, NaN for no figure.

    :param folders: the possible folders of the file, the likeliest first.
    :raises InputError: the file is missing or damaged; the message is short and for people.
    """
    if matrix.file is None:
        return np.array(matrix.values, dtype=float).reshape(len(matrix.nodes), len(matrix.nodes))
    size = len(matrix.nodes)
    most_bytes = 4 * size * size + _HEADER_BYTES
    paths = [pathlib.Path(folder, pathlib.PurePath(matrix.file.name).name) for folder in folders]
    try:
        path = next((path for path in paths if path.is_file()), None)
        if path is None:
            raise InputError(f"not kept: {clean(str(paths[0])) if paths else clean(matrix.file.name)}")
        content = read_bytes(path, most_bytes)
    except OSError as err:
        raise InputError(f"{clean(str(err.filename))[:300]}: {err.strerror}") from err
    if hashlib.sha256(content).hexdigest() != matrix.file.sha256:
        raise InputError(f"{clean(str(path))}: damaged: its SHA-256 has changed since it was written")
    return _unpacked(content, size, most_bytes, clean(str(path)))


def _unpacked(content: bytes, size: int, most_bytes: int, source: str) -> Floats:
    # The report may come from an unknown source, so that the SHA-256 in it does not make this file trustworthy.
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            unpacked_bytes = sum(member.file_size for member in archive.infolist())
        if unpacked_bytes > most_bytes:
            raise ValueError(f"larger than {size} x {size} figures")
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            values = arrays["values"]
    except Exception as err:  # A hostile archive can cause many kinds of errors, including MemoryError.
        raise InputError(f"{source}: not a NumPy archive with the array values: {clean(str(err))[:100]}") from None
    if not isinstance(values, np.ndarray) or values.shape != (size, size) or values.dtype != np.float32:
        raise InputError(f"{source}: not {size} x {size} figures")
    return np.asarray(values, dtype=float)
