"""Result of ``affinity``: where every rank and thread may run and ran, and where its memory is, one JSON object."""

from dataclasses import dataclass

from reframe_checks.parsers.strict_json import Record
from reframe_checks.parsers.text import Output, Quantity

# Of each thread the program asks for so many.
PAGES = 64


@dataclass(frozen=True)
class Thread:
    """``cpus`` are those that it may run on in the end, ``ran_on`` those that it was seen on, in the NUMA domains
    ``domains``; ``pages`` counts those of its memory that were asked for, by domain, below 0 by the kernel's error.
    ``triad_mbps`` in 10^6 bytes a second."""

    cpus: tuple[int, ...]
    ran_on: tuple[int, ...]
    domains: tuple[int, ...]
    pages: dict[int, int]
    triad_mbps: float


@dataclass(frozen=True)
class Rank:
    rank: int
    node: str
    cpus: tuple[int, ...]
    threads: tuple[Thread, ...]


def parse(text: str, *, expect_ranks: int) -> tuple[Rank, ...]:
    """Every rank in order of its number.

    :raises ParseError: not one JSON object of this format and version, a key missing or of another type, or a rank
        missing or there twice.
    """
    output = Output.read("affinity", text)
    record = Record.parse(output, 1, len(output.lines))
    if record.text("format") != "kappa-affinity" or record.integer("version") != 1:
        raise record.error("kappa-affinity, version 1", "format")
    if record.integer("size", 1, Quantity.RANKS) != expect_ranks:
        raise record.error(f"{expect_ranks} ranks", "size")
    ranks = tuple(map(_rank, record.records("ranks")))
    if [rank.rank for rank in ranks] != list(range(expect_ranks)):
        raise record.error(f"the ranks 0 to {expect_ranks - 1}, each once and in order", "ranks")
    return ranks


def _rank(record: Record) -> Rank:
    threads = tuple(map(_thread, record.records("threads")))
    if not threads:
        raise record.error("one thread or more", "threads")
    return Rank(record.integer("rank", 0, Quantity.RANKS), record.text("node"), _numbers(record, "cpus"), threads)


def _thread(record: Record) -> Thread:
    counted = record.records("pages")
    pages = {one.integer("domain", -4095): one.integer("pages", 1) for one in counted}
    if len(pages) != len(counted) or (pages and sum(pages.values()) != PAGES):
        raise record.error(f"{PAGES} pages, each NUMA domain once", "pages")
    return Thread(
        cpus=_numbers(record, "cpus"),
        ran_on=_numbers(record, "ran_on"),
        domains=_numbers(record, "domains"),
        pages=pages,
        triad_mbps=record.number("triad_MBps", Quantity.MB_S, 1e-9),
    )


def _numbers(record: Record, key: str) -> tuple[int, ...]:
    values = tuple(record.integers(key, Quantity.RANKS))
    if not values or len(set(values)) != len(values):
        raise record.error("one number or more, each once", key)
    return values
