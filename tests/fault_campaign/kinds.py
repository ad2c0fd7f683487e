"""Every kind of fault by name, in the order in which a block of rounds has them before they are drawn."""

from tests.fault_campaign import faults, hangs, node_state, ranks, software, surroundings, wrong_bits

_ALL = (
    *faults.KINDS, *node_state.KINDS, *hangs.KINDS, *software.KINDS, *software.OF_USERS, *ranks.KINDS,
    *ranks.OF_NETWORK, *wrong_bits.KINDS, *surroundings.OF_SCRATCH, *surroundings.KINDS,
)  # fmt: skip
KINDS = {kind.name: kind for kind in _ALL}
