"""Which nodes sent over other adapters, or by other protocols, than they have to."""

import fnmatch
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from reframe_checks.parsers.mpi_report import Lane

#: An adapter with less than this share of what MPI sent carries something else; all together carry at least the other.
LEAST_SHARE, WHOLE_SHARE = 0.1, 0.9


def wrong_adapters(
    payload_bytes: int, sent_bytes: Mapping[str, Mapping[str, int]], expected: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """(node, what is wrong).

    :param sent_bytes: by node and adapter.
    :param expected: names or shell patterns of the adapters that share the traffic; of a pattern each that there is.
        Without any, those that most nodes use.
    """
    usual = _usual(payload_bytes, sent_bytes)
    for node, counted in sent_bytes.items():
        shares = {name: count / payload_bytes for name, count in counted.items()}
        used = {name for name, share in shares.items() if share >= LEAST_SHARE}
        wanted = {name for name in shares if any(fnmatch.fnmatchcase(name, one) for one in expected)}
        if not expected:
            wanted = usual or used
        gone = [pattern for pattern in expected if not fnmatch.filter(shares, pattern)]
        if gone:
            yield node, f"there is no adapter {', '.join(gone)}: MPI used {_shown(shares, used)}"
        elif used - wanted:
            yield node, f"fell back to {_shown(shares, used - wanted)} in place of {', '.join(sorted(wanted))}"
        elif wanted - used:
            yield node, f"fewer rails: {_shown(shares, wanted & shares.keys())} of what MPI sent"
        elif sum(shares[name] for name in wanted) < WHOLE_SHARE:
            yield node, f"no adapter counted most of what MPI sent: {_shown(shares, shares)}"


def _usual(payload_bytes: int, sent_bytes: Mapping[str, Mapping[str, int]]) -> set[str]:
    """What more than half of the nodes use."""
    used = Counter(
        frozenset(name for name, count in counted.items() if count >= LEAST_SHARE * payload_bytes)
        for counted in sent_bytes.values()
    )
    names, count = used.most_common(1)[0]
    return set(names) if 2 * count > len(sent_bytes) else set()


def wrong_protocols(said: Mapping[str, frozenset[Lane]], expected: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(host, which lanes are none of the protocols ``expected``, names or shell patterns)."""
    for host, lanes in said.items():
        others = {lane for lane in lanes if not any(fnmatch.fnmatchcase(lane.protocol, one) for one in expected)}
        if others:
            used = ", ".join(sorted(map(str, others)))
            yield host, f"MPI uses {used}, the site expects {' or '.join(expected)}"


def _shown(shares: Mapping[str, float], names: object) -> str:
    chosen = sorted(names)  # type: ignore[call-overload]
    return ", ".join(f"{name} ({100 * shares[name]:.0f} %)" for name in chosen) or "none"
