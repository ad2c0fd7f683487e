"""HPCG's problem and its input file ``hpcg.dat``."""

#: What HPCG's model counts for an equation, at least: with its row of the matrix, vectors, and coarser grids.
BYTES_PER_EQUATION = 713
#: Edges are multiples of 8: each of three coarser grids halves them.
STEP = 8
SMALLEST_EDGE = 16


def local_grid(least_bytes: float) -> tuple[int, int, int]:
    """The smallest grid of one rank, as cubic as possible, whose data take ``least_bytes`` or more."""
    equations = least_bytes / BYTES_PER_EQUATION
    edge = max(int(equations ** (1 / 3)) // STEP * STEP, SMALLEST_EDGE)
    x, y, z = edge, edge, edge
    while x * y * z < equations:
        # The shortest grows, the last of equal ones first.
        if z <= y:
            z += STEP
        elif y <= x:
            y += STEP
        else:
            x += STEP
    return x, y, z


def hpcg_dat(grid: tuple[int, int, int], seconds: int) -> str:
    """Input for these cells of each rank, and so many seconds of timed iterations."""
    return f"HPCG benchmark input file\nKappa\n{' '.join(map(str, grid))}\n{seconds}\n"
