"""What nodes told, held against this machine and against each other: user, clock, folders, storage targets."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kappa.app.survey.doctor.matters import RIGHT, Matter, right, untold, wrong
from kappa.app.survey.doctor.quotas import room
from kappa.app.survey.doctor.told import OWN, PARALLEL, WORK, Folder, Told
from kappa.core.ground.node_lists import folded

#: Seconds by which clocks may differ.
MOST_CLOCK_S = 1.0
_SPEAKS = "runs"
_ASK = "ask who runs the cluster"


class Asked(NamedTuple):
    """A folder of which nodes were asked; ``name`` is a storage target's, or says what is kept in a work folder, which
    stands in ``shown`` for this look alone."""

    kind: str
    path: str
    name: str
    shown: str

    @property
    def argument(self) -> str:
        return f"{self.kind}|{self.path}"


class Offset(NamedTuple):
    """Seconds that a node's clock is ahead of this machine's: at least and at most."""

    least: float
    most: float


def user_matter(nodes: Sequence[Told], user: tuple[str, str, str], places: Sequence[str]) -> Matter:
    """``user``: number, group and name on this machine."""
    silent = [one.node for one in nodes if not any(one.user)]
    odd = {one.node: one.user for one in nodes if any(one.user) and one.user != user}
    if silent and not odd:
        return untold("user", places, f"{folded(silent)} did not say in time who it is", "try `id` on the node")
    if not odd:
        return right("user", places, f"{user[2]} has the same numbers on nodes as here")
    node, (number, group, name) = next(iter(odd.items()))
    return wrong(
        "user", places,
        f"on {folded(odd)} the user is {name or '?'} {number}:{group}, as {node} has it, here {user[2]} "
        f"{user[0]}:{user[1]}",
        f"files of jobs belong to somebody else then: {_ASK} for one directory of users (LDAP, /etc/passwd)",
    )  # fmt: skip


def clock_matter(offsets: Mapping[str, Offset | None], places: Sequence[str]) -> Matter:
    """By bounds that a question and its answer give, however slow they were: who is not surely wrong is not blamed."""
    remedy = f"see `chronyc tracking` or `timedatectl` on the node; {_ASK} for NTP"
    known = {node: one for node, one in offsets.items() if one is not None}
    for node, one in known.items():
        if one.least > MOST_CLOCK_S or one.most < -MOST_CLOCK_S:
            ahead = one.least > 0
            size = one.least if ahead else -one.most
            way = "ahead of" if ahead else "behind"
            return wrong("clock", places, f"{node} is {size:.1f} s or more {way} this machine", remedy)
    if known:
        latest, first = max(known, key=lambda one: known[one].least), min(known, key=lambda one: known[one].most)
        apart = known[latest].least - known[first].most
        if apart > MOST_CLOCK_S:
            return wrong("clock", places, f"{latest} is {apart:.1f} s or more ahead of {first}", remedy)
    vague = [node for node in offsets if node not in known or known[node].most - known[node].least > 2 * MOST_CLOCK_S]
    if vague:
        return untold("clock", places, f"{folded(vague)} answered too slowly to tell", "try again when it is quieter")
    return right("clock", places, f"nodes are within {MOST_CLOCK_S:g} s of this machine")


def wrote(nodes: Sequence[Told], number: int, token: str) -> list[str]:
    """The nodes that say that they wrote where this machine had left its ``token``, in the folder of this number."""
    said = {told.node: told.folders[number] for told in nodes if number < len(told.folders)}
    return [node for node, folder in said.items() if folder.token == token and folder.writes == "yes"]


def folder_matters(
    asked: Sequence[Asked], nodes: Sequence[Told], user: str, here: Mapping[str, Sequence[str]], token: str,
    places: Sequence[str],
) -> Iterator[Matter]:  # fmt: skip
    """``user``: this machine's number of it; ``here``: of each work folder by its path, the nodes whose file this
    machine found there."""
    for number, one in enumerate(asked):
        said = {told.node: told.folders[number] if number < len(told.folders) else Folder() for told in nodes}
        silent = [node for node, folder in said.items() if not folder.ended]
        if silent:
            yield wrong(
                _subject(one), places, f"{folded(silent)} did not answer there in time: {one.shown}",
                f"a server of the file system may hang: try `ls {one.shown}` on the node; {_ASK}",
            )  # fmt: skip
            continue
        found = here.get(one.path, ())
        answers = _of_work(one, said, user, found, token) if one.kind == WORK else _of_target(one, said)
        yield answers._replace(places=tuple(places))
        rooms = [room(folder, one.name, places) for folder in said.values() if folder.there]
        # One for all nodes: that which is not right, if there is one.
        yield from (min(alike, key=lambda one: one.state == RIGHT) for alike in zip(*rooms, strict=True))


def _subject(one: Asked) -> str:
    return f"folder {one.name}" if one.kind == WORK else f"storage {one.name}"


def _of_work(one: Asked, said: Mapping[str, Folder], user: str, found: Sequence[str], token: str) -> Matter:
    """``user``: the number that this machine has for it; ``found``: of which nodes the file is here."""
    subject = _subject(one)
    unseen = [node for node, folder in said.items() if folder.token != token]
    if unseen:
        return wrong(
            subject, (),
            f"{folded(unseen)} does not see what this machine wrote into {one.shown}{_why(said[unseen[0]])}",
            "jobs start and write there: put it on a file system that all nodes have (KAPPA_HOME, KAPPA_RESULTS)",
        )  # fmt: skip
    refused = {node: folder for node, folder in said.items() if folder.writes != "yes"}
    if refused:
        why = next(iter(refused.values())).writes
        return wrong(subject, (), f"{folded(refused)} may not write there: {why}",
                     "mount it for writing, without squashing the user, or name another folder")  # fmt: skip
    squashed = {node: folder.owner for node, folder in said.items() if folder.owner.partition(":")[0] != user}
    if squashed:
        node, owner = next(iter(squashed.items()))
        return wrong(
            subject, (), f"what {node} writes there belongs to {owner}, not to {user}",
            "export it without root_squash and with one directory of users, or run as a plain user",
        )  # fmt: skip
    lost = sorted(set(said) - set(found))
    if lost:
        return wrong(
            subject, (), f"what {folded(lost)} wrote into {one.shown} is not seen here",
            "another file system is mounted there on the node, or its server keeps back what is new: name another",
        )  # fmt: skip
    stuck = {node: folder for node, folder in said.items() if folder.runs != _SPEAKS}
    if stuck:
        folder = next(iter(stuck.values()))
        options = " (mounted noexec)" if "noexec" in folder.mount[3].split(",") else ""
        return wrong(subject, (), f"a program in it does not run on {folded(stuck)}{options}: {folder.runs}",
                     "what is built there has to run: mount it without noexec, or name another folder")  # fmt: skip
    return right(subject, (), f"nodes and this machine see the same, write and run there: {one.shown}")


def _why(folder: Folder) -> str:
    return f" ({folder.token})" if folder.token else ""


def _of_target(one: Asked, said: Mapping[str, Folder]) -> Matter:
    subject = _subject(one)
    missing = [node for node, folder in said.items() if not folder.there]
    if missing:
        return wrong(subject, (), f"{folded(missing)} has no folder {one.path}",
                     f"correct storage.{one.name}.path in site.yaml, or make the folder there")  # fmt: skip
    refused = {node: folder for node, folder in said.items() if folder.writes != "yes"}
    if refused:
        return wrong(subject, (), f"{folded(refused)} may not write there: {next(iter(refused.values())).writes}",
                     f"name a folder of yours in storage.{one.name}.path of site.yaml")  # fmt: skip
    alone = [node for node, folder in said.items() if folder.sees < len(said)]
    kind = next(iter(said.values())).mount[0] or "unknown type"
    if one.kind == PARALLEL and alone:
        return wrong(
            subject, (), f"{folded(alone)} does not see what other nodes write into {one.path} ({kind})",
            f"it is `parallel: true` in site.yaml and is a node's own: leave `parallel` of {one.name} out",
        )  # fmt: skip
    if one.kind == OWN and len(said) > 1 and not alone:
        return wrong(
            subject, (), f"all nodes see the same files in {one.path} ({kind}), which is described as each node's own",
            "name it as a target that nodes share, with `parallel: true`, in site.yaml",
        )  # fmt: skip
    shared = ", the same files on all" if one.kind == PARALLEL and len(said) > 1 else ""
    return right(subject, (), f"nodes write there{shared}: {one.path} ({kind})")
