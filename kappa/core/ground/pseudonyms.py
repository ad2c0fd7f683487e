"""Replace names of users, mails and addresses in several texts; equal replacements stand for equal originals."""

import functools
import ipaddress
import re
from collections import Counter
from collections.abc import Iterable, Iterator

_JOB_STATES = "CA|CD|CF|CG|DL|F|NF|OOM|PD|PR|R|RD|RF|RH|RQ|RS|RV|S|SE|SI|SO|ST|TO"
_NAME = r"([A-Za-z_][\w.-]{1,63})"
_USERS = re.compile(
    rf"/(?:homes?|[uU]sers)/(?:\w/)?{_NAME}|(?<!\S)~{_NAME}/|(?<![\w.+-]){_NAME}@[A-Za-z][\w.-]"
    r"|(?i:\b(?:[\w-]{0,20}_)?(?:user(?:id|name|_name)?|logname|owner|login|account|uname))"
    rf"[\"']?\s?[=:]\s?[\"']?{_NAME}"
    rf"|\b(?:uid|gid|groups|GroupId)=\d+\({_NAME}|(?<![\w-])(?:-A|--account)[ =]{_NAME}"
    rf"|\b(?:for|of|by) user {_NAME}"
    rf"|^[ \t]*\d\S*\s[^\n]{{0,300}}?\s{_NAME}\s+(?:{_JOB_STATES})\s+(?:[\d:-]*:\d\d|INVALID|UNLIMITED)"
    rf"|^{_NAME} +(?:pts/|tty)|^[dlbcps-][rwxsStT-]{{9}}\S?\s+\d+\s+{_NAME}",
    re.MULTILINE,
)
_LONGEST_ROW = 1000
_CELL = re.compile(r"[^\s|]+")
_USER_TITLE = re.compile(r"(?<![^\s|])(?:USER(?:ID|NAME)?|UID|OWNER|ACCOUNT|User(?:ID|Name)?|Owner|Account)(?![^\s|])")
_OTHER_TITLES = re.compile(
    r"(?<![^\s|])(?:CMD|COMMAND|JOBID|NAME|NODELIST|PARTITION|P?PID|REASON|S?TIME|ST|STATE|TIMESTAMP|TTY"
    r"|JobI[dD]|JobName|NodeList|Partition|Reason|State|Timestamp)(?![^\s|(])"
)
_TOKEN = re.compile(r"(?<!\w)[^\W\d][\w.-]*")
_PARTS = re.compile(r"([._-]+)")
_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![\w-])")
_HARDWARE = re.compile(r"(?<![\w:])[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5,19}(?![\w:])")
_IPV4 = re.compile(r"(?<![\w.])(?<!version )(?<!version : )\d{1,3}(?:\.\d{1,3}){3}(?![\w.]*\w)")
_IPV6 = re.compile(r"(?<![\w:.])(?=[0-9a-fA-F]{0,4}:[0-9a-fA-F]{0,4}:)[0-9a-fA-F:]{3,39}(?![\w:])")
# Words that are no user's name, or that every system has.
_COMMON = frozenset([
    "root", "nobody", "localhost", "slurm", "munge", "kappa", "git", "user", "users", "name", "id", "no", "none",
    "null", "unknown", "true", "false", "all", "any", "default", "system", "main", "master", "develop", "stable",
    "latest", "mpiexec", "mpirun",
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
        for groups in _USERS.findall(text):
            self._user(next(filter(None, groups)))
        for name in _users_of_tables(text):
            self._user(name)

    def replaced(self, text: str) -> tuple[str, Counter[str]]:
        """Return ``text`` with replacements, and how often it has each."""
        counts: Counter[str] = Counter()
        for pattern, kind in ((_MAIL, "mail"), (_HARDWARE, "address"), (_IPV6, "address"), (_IPV4, "address")):
            text = pattern.sub(functools.partial(self._address, kind, counts), text)
        # Looking up each word takes the same time for any number of users.
        return _TOKEN.sub(functools.partial(self._word, counts), text), counts

    def _address(self, kind: str, counts: Counter[str], hit: re.Match[str]) -> str:
        if kind == "address" and hit.re is not _HARDWARE and not _is_address(hit[0]):
            return hit[0]
        return self._counted(hit[0], kind, counts)

    def _word(self, counts: Counter[str], hit: re.Match[str]) -> str:
        """Return the word of ``hit`` with a replacement for each part that is a user's name."""
        word = hit[0]
        if word in self._keep:
            return word
        if word in self._names:
            return self._counted(word, "user", counts)
        # A line end in JSON is a backslash and a letter.
        if hit.string[hit.start() - 1 : hit.start()] == "\\" and word[1:] in self._names:
            return word[0] + self._counted(word[1:], "user", counts)
        parts = _PARTS.split(word)
        shown, at = [], 0
        while at < len(parts):
            # A user's name may have up to four parts.
            length = next((n for n in (7, 5, 3, 1) if "".join(parts[at : at + n]) in self._names), 0)
            part = "".join(parts[at : at + max(1, length)])
            shown.append(self._counted(part, "user", counts) if length else part)
            at += max(1, length)
        return "".join(shown)

    def _counted(self, original: str, kind: str, counts: Counter[str]) -> str:
        name = self._name(original, kind)
        counts[name] += 1
        return name

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
    """Yield the words below the titles of users in tables of squeue, sacct, sinfo, ps and similar commands."""
    places: list[tuple[int, tuple[int, int]]] = []
    count = 0
    for line in text.split("\n") if _USER_TITLE.search(text) else ():
        titles = {hit.span() for hit in _USER_TITLE.finditer(line[:_LONGEST_ROW])}
        if not (titles or places):
            continue
        cells = [(hit[0], hit.span()) for hit in _CELL.finditer(line[:_LONGEST_ROW])]
        if titles and len(_OTHER_TITLES.findall(line)) > 1:
            places = [(number, span) for number, (_, span) in enumerate(cells) if span in titles]
            count = len(cells)
        elif not cells:
            places = []
        elif any(cell[0].isdigit() for cell, _ in cells):
            for number, (begin, end) in places:
                # A cell may be empty or have several words.
                below = cells[number : number + 1] if len(cells) == count else cells
                yield from (
                    name
                    for cell, span in below
                    if (len(cells) == count or (span[0] < end and begin < span[1]))
                    and re.fullmatch(_NAME, name := cell.rstrip("+"))
                )


def _is_address(text: str) -> bool:
    """Return whether ``text`` is an IP address and not a loopback or unspecified one; versions and times are not."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified)
