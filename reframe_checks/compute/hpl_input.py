"""Input files of HPL, from the problem sizes, the block size and the process grid.

Format: the file ``TUNING`` of HPL 2.3; HPCC adds lines for PTRANS (its ``README``).
"""

import math
from collections.abc import Sequence


def process_grid(ranks: int) -> tuple[int, int]:
    """P x Q as square as possible with P <= Q, as HPL's FAQ advises."""
    rows = max(divisor for divisor in range(1, math.isqrt(ranks) + 1) if ranks % divisor == 0)
    return rows, ranks // rows


def problem_size(memory_bytes: float, fraction: float, block: int) -> int:
    """Largest order N, a multiple of ``block``, whose matrix of 8-byte numbers fills ``fraction`` of the memory."""
    return max(int(math.sqrt(fraction * memory_bytes / 8)) // block, 1) * block


def order_within(seconds: float, flops: float, block: int) -> int:
    """Largest order N, a multiple of ``block``, solved in ``seconds`` at ``flops`` a second: 2/3 N^3 of them."""
    return max(int((1.5 * seconds * flops) ** (1 / 3)) // block, 1) * block


def solving_s(order: int, flops: float) -> float:
    """Seconds to solve a system of this order at ``flops`` a second."""
    return order**3 / (1.5 * flops)


def doublings(nodes: int) -> list[int]:
    """1, 2, 4, … and ``nodes`` itself: the numbers of nodes of a scaling series."""
    return [*(1 << power for power in range(nodes.bit_length()) if 1 << power < nodes), nodes]


def hpl_dat(orders: Sequence[int], block: int, grid: tuple[int, int]) -> str:
    """``HPL.dat``: systems of these orders one after the other, one block size, one grid, output to standard output."""
    rows, columns = grid
    values = " ".join(map(str, orders))
    return f"""HPLinpack benchmark input file
Kappa
HPL.out      output file name (if any)
6            device out (6=stdout,7=stderr,file)
{len(orders):<12d} # of problems sizes (N)
{values:<12} Ns
1            # of NBs
{block:<12d} NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
{rows:<12d} Ps
{columns:<12d} Qs
16.0         threshold
1            # of panel fact
2            PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
1            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
1            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
"""


def hpccinf_txt(orders: Sequence[int], block: int, grid: tuple[int, int]) -> str:
    """``hpccinf.txt``: HPL's input and no additional PTRANS runs."""
    return (
        hpl_dat(orders, block, grid)
        + """##### This line (no. 32) is ignored (it serves as a separator). ######
0            Number of additional problem sizes for PTRANS
1200         values of N
0            number of additional blocking sizes for PTRANS
40           values of NB
"""
    )
