"""PCIe: present and possible generation and width of the link to every adapter, GPU and NVMe disk."""

from kappa.node.files import entries, link_name, read

PCI = "/sys/bus/pci/devices"
# Class codes of the PCI-SIG: mass storage NVMe, network, display, InfiniBand, processing accelerator.
CLASSES = {"0x0108": "nvme", "0x02": "network", "0x03": "gpu", "0x0c06": "infiniband", "0x12": "accelerator"}


def facts():
    return dict(links())


def links():
    for address in entries(PCI):
        kind = kind_of(read(PCI, address, "class") or "")
        width, widest = (read(PCI, address, name + "_link_width") for name in ("current", "max"))
        # "0" or "255": no link.
        if not kind or width in (None, "", "0", "255"):
            continue
        name = f"pcie.{kind}.{address}"
        yield name + ".width", int(width)
        yield name + ".widest", int(widest) if (widest or "").isdigit() else None
        if kind in ("nvme", "network", "infiniband"):  # an idle GPU slows its link down
            yield name + ".speed", read(PCI, address, "current_link_speed")
        yield name + ".driver", link_name(PCI, address, "driver")


def kind_of(code):
    return next((kind for prefix, kind in CLASSES.items() if code.startswith(prefix)), None)
