"""The one table of where the two buffers of a point-to-point test lie, on GPU partitions."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Buffers:
    """``sender`` and ``receiver`` as OSU names memory: H host, D device."""

    sender: str
    receiver: str
    feature: str


BUFFERS = {
    "D_D": Buffers("D", "D", "nvidia"),
    "H_H": Buffers("H", "H", "buffers_mixed"),
    "H_D": Buffers("H", "D", "buffers_mixed"),
    "D_H": Buffers("D", "H", "buffers_mixed"),
}
