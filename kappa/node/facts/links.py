"""Network interfaces and InfiniBand ports: their speed, and how often they lost their link."""

import os

from kappa.node.files import entries, link_name, number, read, total

NET, INFINIBAND = "/sys/class/net", "/sys/class/infiniband"
ERRORS = ("rx_errors", "tx_errors", "rx_crc_errors", "rx_fifo_errors", "tx_carrier_errors")
# The kernel's names of the InfiniBand specification's error counters (PortCounters).
IB_ERRORS = (
    "symbol_error",
    "port_rcv_errors",
    "port_xmit_discards",
    "local_link_integrity_errors",
    "excessive_buffer_overrun_errors",
)


def facts():
    return dict([*ethernet(), *infiniband()])


def ethernet():
    for name in entries(NET):
        if name == "lo" or number(NET, name, "mtu") is None:
            continue
        speed = number(NET, name, "speed")
        yield f"net.{name}.state", read(NET, name, "operstate")
        yield f"net.{name}.speed_mbit", speed if speed and speed > 0 else None
        yield f"net.{name}.duplex", read(NET, name, "duplex")
        yield f"net.{name}.mtu", number(NET, name, "mtu")
        yield f"net.{name}.driver", link_name(NET, name, "device/driver")
        yield f"net.{name}.links_lost", number(NET, name, "carrier_down_count")
        yield f"net.{name}.errors", total(*((NET, name, "statistics", counter) for counter in ERRORS))


def infiniband():
    for device in entries(INFINIBAND):
        yield f"ib.{device}.firmware", read(INFINIBAND, device, "fw_ver")
        for port in entries(os.path.join(INFINIBAND, device, "ports")):
            folder = os.path.join(INFINIBAND, device, "ports", port)
            name = f"ib.{device}.{port}"
            # The kernel writes the state as "4: ACTIVE".
            yield name + ".state", (read(folder, "state") or "unknown").split(": ")[-1]
            yield name + ".physical_state", (read(folder, "phys_state") or "unknown").split(": ")[-1]
            # "100 Gb/sec (4X EDR)": rate and width.
            yield name + ".rate", read(folder, "rate")
            yield name + ".link_layer", read(folder, "link_layer")
            yield name + ".links_lost", number(folder, "counters", "link_downed")
            yield name + ".errors", total(*((folder, "counters", counter) for counter in IB_ERRORS))

