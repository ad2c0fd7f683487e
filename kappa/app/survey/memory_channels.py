"""What the memory of a node can move by its maker's word: sockets x channels x transfers x 8 bytes.

Channels of 64 bits and the highest speed at which the maker lets all of them run, of plain DDR: Intel ARK and the
product briefs of Xeon Scalable, Max and 6; AMD's pages of each EPYC ("Memory Channels", "System Memory
Specification"); Ampere's product briefs of Altra; AWS's announcements of Graviton2 to 4; NVIDIA's datasheet of Grace
(512 GB/s); Fujitsu's datasheet of A64FX (four stacks of HBM2, 1024 GB/s). Models of one family that their maker states
slower stand in lines of their own or nowhere.
"""

import re
from typing import NamedTuple

from kappa.app.survey.probe import Probe

_BYTES = 8
# Before lscpu's names of cores, which several makers use, stands what the firmware calls the processor.
_NAMES = ("BIOS Model name", "Model name")


class _Memory(NamedTuple):
    """``pattern`` of the model's name; ``channels`` of a socket, ``mt_s``: million transfers a second of each."""

    pattern: str
    channels: int
    mt_s: int


_XEON = r"xeon\(r\) (?:platinum|gold|silver|bronze) "
_EPYC = r"epyc "
_TABLE = (
    # Intel Xeon Scalable: the second digit is the generation.
    _Memory(_XEON + r"(?:81|61)\d\d", 6, 2666),
    _Memory(_XEON + r"(?:51|41)\d\d", 6, 2400),
    _Memory(_XEON + r"31\d\d", 6, 2133),
    _Memory(_XEON + r"92\d\d", 12, 2933),
    _Memory(_XEON + r"(?:82|62)\d\d(?!v)", 6, 2933),
    _Memory(_XEON + r"52\d\d", 6, 2666),
    _Memory(_XEON + r"42\d\d", 6, 2400),
    _Memory(_XEON + r"32\d\d", 6, 2133),
    # Without the four-socket models of the third generation (H), whose speed differs from one to the next.
    _Memory(_XEON + r"(?:83(?!51n|52v)|63(?!30))\d\d(?![hn])", 8, 3200),
    _Memory(_XEON + r"(?:53\d\d|6330)(?![hn])", 8, 2933),
    _Memory(_XEON + r"(?:43\d\d|63\d\dn|5318n)", 8, 2666),
    _Memory(_XEON + r"(?:84\d\d|64\d\d(?!n))", 8, 4800),
    _Memory(_XEON + r"54\d\d(?!n)", 8, 4400),
    _Memory(_XEON + r"(?:44|34)\d\d", 8, 4000),
    _Memory(r"xeon\(r\) (?:cpu )?max 94\d\d", 8, 4800),
    _Memory(_XEON + r"(?:8592\+|8580|8568y\+|8562y\+|8593q|8558p)", 8, 5600),
    _Memory(_XEON + r"65(?:26y|38y\+|42y|44y|48y\+)", 8, 5200),
    _Memory(_XEON + r"(?:6530|6534|55\d\d)", 8, 4800),
    _Memory(_XEON + r"45\d\d", 8, 4400),
    _Memory(r"xeon\(r\) 69\d\dp", 12, 6400),
    _Memory(r"xeon\(r\) 67\d\dp", 8, 6400),
    # AMD EPYC, without those of two chiplets of cores: their links to the memory carry less than its channels.
    _Memory(_EPYC + r"7(?!251)\d\d1", 8, 2666),
    _Memory(_EPYC + r"7(?!232|252|272|282)[\dfh]\d2", 8, 3200),
    _Memory(_EPYC + r"7(?!203|303)[\da]\d3", 8, 3200),
    _Memory(_EPYC + r"7\df3", 8, 3200),
    _Memory(_EPYC + r"9\d\d4", 12, 4800),
    _Memory(_EPYC + r"9(?!015|115|135)\d\d5", 12, 6000),
    # Others.
    _Memory(r"altra(?:\(r\))?", 8, 3200),
    _Memory(r"graviton2", 8, 3200),
    _Memory(r"graviton3e?", 8, 4800),
    _Memory(r"graviton4", 12, 5600),
    _Memory(r"grace", 8, 8000),
    _Memory(r"a64fx", 64, 2000),
)


def memory_gb_per_s(probe: Probe) -> float | None:
    """Of all sockets of a node, GB/s of 10^9 bytes; ``None`` where the table does not know the processor."""
    socket = next((speed for name in _NAMES if (speed := _of_socket(probe.lscpu.get(name, "")))), None)
    return round(socket * len({cpu.socket for cpu in probe.cpus}), 1) if socket else None


def _of_socket(model: str) -> float | None:
    for one in _TABLE:
        if re.search(rf"(?<![a-z0-9]){one.pattern}(?![0-9])", model.lower()):
            return one.channels * one.mt_s * _BYTES / 1000
    return None
