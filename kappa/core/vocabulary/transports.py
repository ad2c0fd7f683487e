"""Settings of MPI between two buffers: UCX settings to compare, a single adapter, and the memory of the buffers.

A partition lists the features of its nodes. The variables belong to UCX's own configuration (``ucx_info -cf``).
``default`` leaves the choice to UCX.
"""

from dataclasses import dataclass

GPUDIRECT, GDRCOPY, CUDA_IPC, RENDEZVOUS = "gpudirect_rdma", "gdrcopy", "cuda_ipc", "ucx_rendezvous"

ALL, DEVICE, BOTH = ("D_D", "H_H", "H_D", "D_H"), ("D_D", "H_D", "D_H"), ("D_D",)


@dataclass(frozen=True)
class Transport:
    """Environment variables of a job, and the features without which they have no effect on a partition.

    ``within``, ``between``: the buffers for which the row is informative, with the ranks on one node or on two.
    """

    variables: dict[str, str]
    features: tuple[str, ...]
    within: tuple[str, ...] = ()
    between: tuple[str, ...] = ()

    def informs(self, nodes: int, buffers: str) -> bool:
        return buffers in (self.within if nodes == 1 else self.between)


# These combinations are left out, because they are not informative: every setting on host buffers; RDMA and the
# network's rendezvous within a node; CUDA IPC between nodes, and within a node unless both buffers are on GPUs. The
# rendezvous schemes and the baseline `all_off` are compared only from GPU to GPU, where their effect is largest.
TRANSPORTS = {
    "default": Transport({}, (), within=ALL, between=ALL),
    "rdma_on": Transport({"UCX_IB_GPU_DIRECT_RDMA": "y"}, (GPUDIRECT,), between=DEVICE),
    "rdma_off": Transport({"UCX_IB_GPU_DIRECT_RDMA": "n"}, (GPUDIRECT,), between=DEVICE),
    "gdrcopy_off": Transport({"UCX_TLS": "^gdr_copy"}, (GDRCOPY,), within=DEVICE, between=DEVICE),
    "cuda_ipc_off": Transport({"UCX_TLS": "^cuda_ipc"}, (CUDA_IPC,), within=BOTH),
    "all_off": Transport(
        {"UCX_IB_GPU_DIRECT_RDMA": "n", "UCX_TLS": "^cuda_ipc,gdr_copy"}, (GPUDIRECT, GDRCOPY, CUDA_IPC),
        within=BOTH, between=BOTH,
    ),
    "rendezvous_get": Transport({"UCX_RNDV_SCHEME": "get_zcopy"}, (RENDEZVOUS,), between=BOTH),
    "rendezvous_put": Transport({"UCX_RNDV_SCHEME": "put_zcopy"}, (RENDEZVOUS,), between=BOTH),
}  # fmt: skip


def only_over(adapter: str) -> dict[str, str]:
    """Return variables that let MPI use only this adapter between nodes. Each MPI library reads its own variables.

    :param adapter: a port of an RDMA adapter, for instance ``mlx5_0:1`` or ``hfi1_0:1``, or a network interface, for
        instance ``eth1``.
    """
    device, _, port = adapter.partition(":")
    # UCX of Open MPI, MPICH and MVAPICH accepts both ports and interfaces.
    variables = {"UCX_NET_DEVICES": adapter}
    if device.startswith("hfi1_"):
        # PSM2 of Omni-Path numbers the adapters from 0.
        return {"HFI_UNIT": device.removeprefix("hfi1_"), "HFI_PORT": port} if port else variables
    if port:
        return variables
    # For TCP of Open MPI, and of libfabric, which MPICH and Intel MPI use.
    return {**variables, "OMPI_MCA_btl_tcp_if_include": adapter, "FI_TCP_IFACE": adapter}


@dataclass(frozen=True)
class Buffers:
    """``sender`` and ``receiver`` are OSU's letters for memory: H host, D device."""

    sender: str
    receiver: str
    feature: str


BUFFERS = {
    "D_D": Buffers("D", "D", "nvidia"),
    "H_H": Buffers("H", "H", "buffers_mixed"),
    "H_D": Buffers("H", "D", "buffers_mixed"),
    "D_H": Buffers("D", "H", "buffers_mixed"),
}
