"""Every kind of fault by name, in the order in which a block of rounds has them before they are drawn."""

from tests.fault_campaign import faults, node_state, wrong_bits

KINDS = {kind.name: kind for kind in (*faults.KINDS, *node_state.KINDS, *wrong_bits.KINDS)}
