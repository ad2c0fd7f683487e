"""Amounts of bytes in the binary unit that suits their size."""

from kappa.core.ground.figures import figure

_BINARY = ("B", "KiB", "MiB", "GiB", "TiB")


def suitable_unit(largest: float, unit: str) -> tuple[float, str]:
    """What to divide figures up to ``largest`` by, and the unit they are then in; other units stay as they are."""
    divisor = 1.0
    while unit in _BINARY[:-1] and largest / divisor >= 1024:
        divisor *= 1024
        unit = _BINARY[_BINARY.index(unit) + 1]
    return divisor, unit


def in_binary_unit(value: float, unit: str) -> str:
    """For instance ``64 KiB`` for 65536 B."""
    divisor, suitable = suitable_unit(value, unit)
    return f"{figure(value / divisor)} {suitable}".rstrip()
