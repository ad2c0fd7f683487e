"""Read the accounts and QOS of a user from ``sacctmgr``."""

from typing import NamedTuple

from kappa.core.ground.clean_text import clean

#: All associations. Those without a user are accounts, each with the account above it.
ASSOCIATIONS = "sacctmgr --noheader --parsable2 show associations format=Cluster,Account,User,ParentName,QOS"


# All accounts are below it, but a list that names it means the administrators.
_TOP = "root"


class UserAccounts(NamedTuple):
    """The accounts of a user, each with itself and those above it but the topmost, and the QOS that jobs may name."""

    accounts: dict[str, frozenset[str]]
    qos: frozenset[str]


def parse_user_accounts(text: str, user: str, cluster: str) -> UserAccounts:
    """Parse the output of ``ASSOCIATIONS`` for a user of a cluster. Ignore other lines; all may be missing."""
    rows = [row for row in (line.split("|") for line in clean(text).splitlines()) if len(row) == 5]
    rows = [row for row in rows if row[0].lower() == cluster.lower()]
    above = {account: parent for _, account, name, parent, _ in rows if not name and parent != _TOP}
    mine = [row for row in rows if row[2] == user]
    accounts = {}
    for _, account, *_ in mine:
        lineage, upper = set[str](), account
        while upper and upper not in lineage:
            lineage.add(upper)
            upper = above.get(upper, "")
        accounts[account] = frozenset(lineage)
    return UserAccounts(accounts, frozenset(qos for row in mine for qos in row[4].split(",") if qos))
