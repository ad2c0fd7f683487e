"""Replace names of users, mails and addresses in several texts; equal replacements stand for equal originals."""

import ipaddress
import re
from collections import Counter
from collections.abc import Iterable, Iterator

_NAME = r"([A-Za-z_][\w.-]{1,63})"
_USER = re.compile(
    rf"""
      /(?:homes?|[uU]sers)/(?:\w/)?{_NAME} | (?<!\S)~{_NAME}/           # homes
    | (?<![\w.+-]){_NAME}@[A-Za-z][\w.-]                                # user@host
    | (?i:user(?:_?id|_?name)?|logname|owner|login|account)["']?\s?[=:]\s?["']?{_NAME}
    | (?<![\w-])(?:-A|--(?:account|wckey|mail-user|reservation|uid|gid))[ =]{_NAME} | \b(?:for|of|by)\ user\ {_NAME}
    | \b(?:uid|gid|groups|GroupId)=\d+\({_NAME}                         # id, scontrol
    | \s{_NAME}\s+(?:R|PD|CG|CF|S|ST|CA|CD|F|TO)\s+\d[\d:-]*:\d\d\b     # squeue without titles
    | ^{_NAME}\ +(?:pts/|tty)                                           # who
    | ^[dlbcps-][rwxsStT-]{{9}}\S?\s+\d+\s+{_NAME}                      # ls -l
    """,
    re.MULTILINE | re.VERBOSE,
)
# Titles of columns of users, and of other columns in the same tables of squeue, sacct, sinfo -R and ps.
_USER_TITLE = re.compile(r"(?<![^\s|])(?:USER(?:ID|NAME)?|UID|OWNER|ACCOUNT|User(?:ID)?|Account)(?![^\s|])")
_OTHER_TITLE = re.compile(r"\b(?:JOBID|JobID|P?PID|CMD|COMMAND|STATE|State|PARTITION|Partition|REASON)\b")
_LONGEST_ROW = 1000
# A word of text, or of JSON behind an escape such as a line end.
_WORD = re.compile(r"(?:(?<![\w\\])|(?<=\\[nrt])|(?<=\\)(?![nrt]))[^\W\d][\w.-]*")
_SEPARATOR = re.compile(r"([._-]+)")
_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![\w-])")
# Ethernet and InfiniBand.
_HARDWARE = re.compile(r"(?<![\w:])[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5,19}(?![\w:])")
_IP = re.compile(
    r"(?<![\w:.])(?=[0-9a-fA-F]{0,4}:[0-9a-fA-F]{0,4}:)[0-9a-fA-F:]{3,39}(?![\w:])"
    r"|(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.]*\w)"
)
# Words that are no user's name, or that every system has.
_COMMON = frozenset([
    "root", "nobody", "localhost", "slurm", "munge", "kappa", "git", "user", "users", "name", "id", "no", "none",
    "null", "unknown", "true", "false", "all", "any", "default", "system", "main", "latest", "mpiexec", "mpirun",
])  # fmt: skip


class Pseudonyms:
    """Learn the names of users from all texts first, then replace them in each.

    ``users``: names of users. ``keep``: words that stay readable, for instance the names of nodes.
    """

    def __init__(self, users: Iterable[str] = (), keep: Iterable[str] = ()) -> None:
        self._keep = {*_COMMON, *keep}
        self._names: dict[str, str] = {}
        self._kinds: Counter[str] = Counter()
        for user in users:
            self._user(user)

    def learn(self, text: str) -> None:
        """Replace, from now on, the names of users that ``text`` shows."""
        for hit in _USER.finditer(text):
            self._user(hit[hit.lastindex or 0])
        for name in _users_of_tables(text):
            self._user(name)

    def replaced(self, text: str) -> str:
        """Return ``text`` with replacements."""
        text = _MAIL.sub(lambda hit: self._name(hit[0], "mail"), text)
        text = _HARDWARE.sub(lambda hit: self._name(hit[0], "address"), text)
        text = _IP.sub(lambda hit: self._name(hit[0], "address") if _is_address(hit[0]) else hit[0], text)
        # Looking up each word takes the same time for any number of users.
        return _WORD.sub(lambda hit: hit[0] if hit[0] in self._keep else self._word(hit[0]), text)

    def _word(self, word: str) -> str:
        """Return ``word`` with a replacement for each part that is a user's name."""
        parts = _SEPARATOR.split(word)
        shown, at = [], 0
        while at < len(parts):
            # A user's name may have up to four parts, with separators between them.
            length = next((n for n in (7, 5, 3) if "".join(parts[at : at + n]) in self._names), 1)
            part = "".join(parts[at : at + length])
            shown.append(self._names.get(part, part))
            at += length
        return "".join(shown)

    def _user(self, name: str) -> None:
        name = name.rstrip(".-")
        if len(name) > 1 and not {name, name.lower()} & self._keep:
            self._name(name, "user")

    def _name(self, original: str, kind: str) -> str:
        if original not in self._names:
            self._kinds[kind] += 1
            self._names[original] = f"{kind}-{self._kinds[kind]}"
        return self._names[original]


def _users_of_tables(text: str) -> Iterator[str]:
    """Yield the words below the titles of users; a line without a number ends a table."""
    titles: list[re.Match[str]] = []
    for row in text.split("\n") if _USER_TITLE.search(text) else ():
        # Columns of equal width also where the table has separators.
        line = "".join(cell.ljust(32) for cell in row[:_LONGEST_ROW].split("|")) if "|" in row else row[:_LONGEST_ROW]
        if _OTHER_TITLE.search(line):
            titles = [*_USER_TITLE.finditer(line)]
        for cell in re.finditer(r"\S+", line) if titles and re.search(r"\d", line) else ():
            is_below = any(cell.start() < title.end() and title.start() < cell.end() for title in titles)
            if is_below and re.fullmatch(_NAME, name := cell[0].rstrip("+")):
                yield name


def _is_address(text: str) -> bool:
    """Return whether ``text`` is an IP address and not a loopback or unspecified one; versions and times are not."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified)
