"""The IEEE systems with 9 and 39 buses: published data as text of a MATPOWER case, and their machines.

9 buses: P. M. Anderson, A. A. Fouad, Power System Control and Stability, 1977, ch. 2. 39 buses: M. A. Pai, Energy
Function Analysis for Power System Stability, 1989, appendix A. Subtransient parameters, and those of the q axis that
are not published, are chosen here: the same for both programs that are compared.
"""

from __future__ import annotations

from dataclasses import dataclass

#: Voltage of each bus, per unit and degrees.
Solution = dict[int, tuple[float, float]]


@dataclass(frozen=True)
class Machine:
    """Parameters of a round rotor per unit of 100 MVA and s; X''d = X''q halfway between the leakage and X'd."""

    bus: int
    h: float
    xd: float
    xd1: float
    xq: float
    xq1: float
    xl: float
    td10: float
    tq10: float
    ra: float = 0.0
    td20: float = 0.04
    tq20: float = 0.06

    @property
    def x2(self) -> float:
        return self.xl + 0.5 * (min(self.xd1, self.xq1) - self.xl)


@dataclass(frozen=True)
class System:
    """Buses (number, type, Pd, Qd, kV), dispatch (bus, Pg, Vg), branches (from, to, r, x, b, ratio), as MATPOWER's."""

    name: str
    buses: tuple[tuple[float, ...], ...]
    dispatch: tuple[tuple[float, ...], ...]
    branches: tuple[tuple[float, ...], ...]
    machines: tuple[Machine, ...]

    def matpower(self, solution: Solution | None = None, *, shunts: bool = False) -> str:
        """Text of the case, with the solution's voltages, and with loads as the shunts that they are at these."""
        buses = []
        for number, kind, p, q, kv in self.buses:
            v, angle = (solution or {}).get(int(number), (1.0, 0.0))
            load = f"0 0 {p / v**2!r} {-q / v**2!r}" if shunts else f"{p} {q} 0 0"
            buses.append(f"{int(number)} {int(kind)} {load} 1 {v!r} {angle!r} {kv} 1 1.1 0.9;")
        machines = [f"{int(bus)} {p} 0 999 -999 {v} 100 1 2000 0;" for bus, p, v in self.dispatch]
        branches = [
            f"{int(a)} {int(b)} {r} {x} {charging} 0 0 0 {ratio} 0 1 -360 360;"
            for a, b, r, x, charging, ratio in self.branches
        ]
        tables = {"bus": buses, "gen": machines, "branch": branches}
        text = "".join(f"mpc.{name} = [\n" + "\n".join(rows) + "\n];\n" for name, rows in tables.items())
        return f"function mpc = {self.name}\nmpc.version = '2';\nmpc.baseMVA = 100;\n{text}"

    def psse(self, version: int) -> str:
        """Text of the case for PSS/E, version 33 or 34, with all voltages 1 per unit."""
        ratings = ",".join("0" * (12 if version >= 34 else 3))
        name = "'A, B'," if version >= 34 else ""
        lines = [f"{a},{b},1,{r},{x},{c},{name}{ratings}" for a, b, r, x, c, tap in self.branches if not tap]
        transformers = [f"{a},{b},0,1\n{r},{x}\n{tap},0,0,{ratings}\n1" for a, b, r, x, _, tap in self.branches if tap]
        sections = {
            "BUS": [f"{number},'BUS {number}',{kv},{kind}" for number, kind, _, _, kv in self.buses],
            "LOAD": [f"{number},1,1,1,1,{p},{q}" for number, _, p, q, _ in self.buses if p or q],
            "FIXED SHUNT": [],
            "GENERATOR": [f"{bus},1,{p},0,999,-999,{v},0,100" for bus, p, v in self.dispatch],
            "BRANCH": lines,
            **({"SYSTEM SWITCHING DEVICE": []} if version >= 34 else {}),
            "TRANSFORMER": transformers,
            "AREA": ["1,0,0,0,'ALL'"],
        }
        head = [f"0,100.0,{version},0,1,60.0 / {self.name}", "", ""]
        head += ["GENERAL,THRSHZ=0.0001", "0"] if version >= 34 else []
        rows = [row for title, records in sections.items() for row in (*records, f"0 / END OF {title} DATA")]
        return "\n".join([*head, *rows, "Q", ""])


NINE = System(
    name="nine",
    buses=(
        (1, 3, 0, 0, 16.5), (2, 2, 0, 0, 18), (3, 2, 0, 0, 13.8), (4, 1, 0, 0, 230), (5, 1, 125, 50, 230),
        (6, 1, 90, 30, 230), (7, 1, 0, 0, 230), (8, 1, 100, 35, 230), (9, 1, 0, 0, 230),
    ),
    dispatch=((1, 71.6, 1.04), (2, 163, 1.025), (3, 85, 1.025)),
    branches=(
        (1, 4, 0, 0.0576, 0, 1), (2, 7, 0, 0.0625, 0, 1), (3, 9, 0, 0.0586, 0, 1), (4, 5, 0.010, 0.085, 0.176, 0),
        (4, 6, 0.017, 0.092, 0.158, 0), (5, 7, 0.032, 0.161, 0.306, 0), (6, 9, 0.039, 0.170, 0.358, 0),
        (7, 8, 0.0085, 0.072, 0.149, 0), (8, 9, 0.0119, 0.1008, 0.209, 0),
    ),
    machines=(
        Machine(1, 23.64, 0.146, 0.0608, 0.0969, 0.0608, 0.0336, 8.96, 0.535),
        Machine(2, 6.4, 0.8958, 0.1198, 0.8645, 0.1969, 0.0521, 6.0, 0.535),
        Machine(3, 3.01, 1.3125, 0.1813, 1.2578, 0.25, 0.0742, 5.89, 0.6),
    ),
)  # fmt: skip

_LOADS = {
    3: (322, 2.4), 4: (500, 184), 7: (233.8, 84), 8: (522, 176), 12: (7.5, 88), 15: (320, 153), 16: (329, 32.3),
    18: (158, 30), 20: (628, 103), 21: (274, 115), 23: (247.5, 84.6), 24: (308.6, -92.2), 25: (224, 47.2),
    26: (139, 17), 27: (281, 75.5), 28: (206, 27.6), 29: (283.5, 26.9), 31: (9.2, 4.6), 39: (1104, 250),
}  # fmt: skip

THIRTY_NINE = System(
    name="thirty_nine",
    buses=tuple(
        (n, 3 if n == 31 else 2 if n >= 30 else 1, *_LOADS.get(n, (0, 0)), 345) for n in range(1, 40)
    ),
    dispatch=(
        (30, 250, 1.0475), (31, 573.2, 0.982), (32, 650, 0.9831), (33, 632, 0.9972), (34, 508, 1.0123),
        (35, 650, 1.0493), (36, 560, 1.0635), (37, 540, 1.0278), (38, 830, 1.0265), (39, 1000, 1.03),
    ),
    branches=(
        (1, 2, 0.0035, 0.0411, 0.6987, 0), (1, 39, 0.0010, 0.0250, 0.7500, 0), (2, 3, 0.0013, 0.0151, 0.2572, 0),
        (2, 25, 0.0070, 0.0086, 0.1460, 0), (3, 4, 0.0013, 0.0213, 0.2214, 0), (3, 18, 0.0011, 0.0133, 0.2138, 0),
        (4, 5, 0.0008, 0.0128, 0.1342, 0), (4, 14, 0.0008, 0.0129, 0.1382, 0), (5, 6, 0.0002, 0.0026, 0.0434, 0),
        (5, 8, 0.0008, 0.0112, 0.1476, 0), (6, 7, 0.0006, 0.0092, 0.1130, 0), (6, 11, 0.0007, 0.0082, 0.1389, 0),
        (7, 8, 0.0004, 0.0046, 0.0780, 0), (8, 9, 0.0023, 0.0363, 0.3804, 0), (9, 39, 0.0010, 0.0250, 1.2000, 0),
        (10, 11, 0.0004, 0.0043, 0.0729, 0), (10, 13, 0.0004, 0.0043, 0.0729, 0), (13, 14, 0.0009, 0.0101, 0.1723, 0),
        (14, 15, 0.0018, 0.0217, 0.3660, 0), (15, 16, 0.0009, 0.0094, 0.1710, 0), (16, 17, 0.0007, 0.0089, 0.1342, 0),
        (16, 19, 0.0016, 0.0195, 0.3040, 0), (16, 21, 0.0008, 0.0135, 0.2548, 0), (16, 24, 0.0003, 0.0059, 0.0680, 0),
        (17, 18, 0.0007, 0.0082, 0.1319, 0), (17, 27, 0.0013, 0.0173, 0.3216, 0), (21, 22, 0.0008, 0.0140, 0.2565, 0),
        (22, 23, 0.0006, 0.0096, 0.1846, 0), (23, 24, 0.0022, 0.0350, 0.3610, 0), (25, 26, 0.0032, 0.0323, 0.5130, 0),
        (26, 27, 0.0014, 0.0147, 0.2396, 0), (26, 28, 0.0043, 0.0474, 0.7802, 0), (26, 29, 0.0057, 0.0625, 1.0290, 0),
        (28, 29, 0.0014, 0.0151, 0.2490, 0), (12, 11, 0.0016, 0.0435, 0, 1.006), (12, 13, 0.0016, 0.0435, 0, 1.006),
        (6, 31, 0, 0.0250, 0, 1.070), (10, 32, 0, 0.0200, 0, 1.070), (19, 33, 0.0007, 0.0142, 0, 1.070),
        (20, 34, 0.0009, 0.0180, 0, 1.009), (22, 35, 0, 0.0143, 0, 1.025), (23, 36, 0.0005, 0.0272, 0, 1.000),
        (25, 37, 0.0006, 0.0232, 0, 1.025), (2, 30, 0, 0.0181, 0, 1.025), (29, 38, 0.0008, 0.0156, 0, 1.025),
        (19, 20, 0.0007, 0.0138, 0, 1.060),
    ),
    machines=(
        Machine(30, 42.0, 0.1, 0.031, 0.069, 0.031, 0.0125, 10.2, 1.5),
        Machine(31, 30.3, 0.295, 0.0697, 0.282, 0.17, 0.035, 6.56, 1.5),
        Machine(32, 35.8, 0.2495, 0.0531, 0.237, 0.0876, 0.0304, 5.7, 1.5),
        Machine(33, 28.6, 0.262, 0.0436, 0.258, 0.166, 0.0295, 5.69, 1.5),
        Machine(34, 26.0, 0.67, 0.132, 0.62, 0.166, 0.054, 5.4, 0.44),
        Machine(35, 34.8, 0.254, 0.05, 0.241, 0.0814, 0.0224, 7.3, 0.4),
        Machine(36, 26.4, 0.295, 0.049, 0.292, 0.186, 0.0322, 5.66, 1.5),
        Machine(37, 24.3, 0.29, 0.057, 0.28, 0.0911, 0.028, 6.7, 0.41),
        Machine(38, 34.5, 0.2106, 0.057, 0.205, 0.0587, 0.0298, 4.79, 1.96),
        Machine(39, 500.0, 0.02, 0.006, 0.019, 0.008, 0.003, 7.0, 0.7),
    ),
)  # fmt: skip
