"""The one table of UCX settings that GPU communication is compared under.

A partition lists the features of what its nodes have; variables are those of UCX's own configuration
(``ucx_info -cf``). ``default`` leaves the choice to UCX.
"""

from dataclasses import dataclass

GPUDIRECT, GDRCOPY, CUDA_IPC, RENDEZVOUS = "gpudirect_rdma", "gdrcopy", "cuda_ipc", "ucx_rendezvous"


@dataclass(frozen=True)
class Transport:
    """Environment variables of a job, and the features that a partition needs for them to make a difference."""

    variables: dict[str, str]
    features: tuple[str, ...]


TRANSPORTS = {
    "default": Transport({}, ()),
    "rdma_on": Transport({"UCX_IB_GPU_DIRECT_RDMA": "y"}, (GPUDIRECT,)),
    "rdma_off": Transport({"UCX_IB_GPU_DIRECT_RDMA": "n"}, (GPUDIRECT,)),
    "gdrcopy_off": Transport({"UCX_TLS": "^gdr_copy"}, (GDRCOPY,)),
    "cuda_ipc_off": Transport({"UCX_TLS": "^cuda_ipc"}, (CUDA_IPC,)),
    "all_off": Transport(
        {"UCX_IB_GPU_DIRECT_RDMA": "n", "UCX_TLS": "^cuda_ipc,gdr_copy"}, (GPUDIRECT, GDRCOPY, CUDA_IPC)
    ),
    "rendezvous_get": Transport({"UCX_RNDV_SCHEME": "get_zcopy"}, (RENDEZVOUS,)),
    "rendezvous_put": Transport({"UCX_RNDV_SCHEME": "put_zcopy"}, (RENDEZVOUS,)),
}
