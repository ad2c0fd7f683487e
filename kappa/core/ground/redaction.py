"""Remove secrets, user names and addresses from text that other people will see."""

import ipaddress
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

REDACTED = "REDACTED"
# The lengths are limited, because a line of a job may be one word of megabytes.
_NAME = r"[\w.:@-]{0,64}(?:token|passw|secret|key|credential)[\w.:@-]{0,64}"
# Match to the end of the word, because a secret may contain any character.
_SECRET = re.compile(rf"(?P<name>{_NAME}=).+", re.IGNORECASE | re.DOTALL)
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)", re.S
)
_IN_TEXT = (
    # Match to the end of the line.
    re.compile(rf"(?P<name>{_NAME}\s*=[ \t]*)\S.*", re.IGNORECASE),
    re.compile(
        r"(?P<name>\b(?:authorization|pass(?:word|phrase|wd)|secret|(?:api|access)[ _-]?key|token)s?[\"']?:[ \t]*)\S.*",
        re.IGNORECASE,
    ),
    re.compile(r"(?P<name>://[^\s/:@]*:)[^\s/@]+(?=@)"),
    # Prefixes of tokens of GitHub, GitLab and Amazon, and of JSON web tokens.
    re.compile(r"(?P<name>\b(?:gh[opusr]_|glpat-|AKIA|eyJ))[\w.-]{12,}"),
)
_HOMES = re.compile(r"/(?:home|users|Users)/([A-Za-z_][\w.-]{0,31})")
_MAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_HARDWARE = re.compile(r"(?<![\w:])[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5,19}(?![\w:])")
_IPV4 = re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.]*\w)")
_IPV6 = re.compile(r"(?<![\w:.])[0-9a-fA-F:]{3,39}(?![\w:])")
# Names that every system has.
_COMMON = ("root", "nobody", "localhost")


def redacted(command_line: str) -> str:
    """Return ``command_line`` without the values of words that name a secret."""
    if not _SECRET.search(command_line):
        return command_line
    try:
        words = shlex.split(command_line)
    except ValueError:
        return _hidden(command_line)
    return shlex.join(map(_hidden, words))


def without_secrets(text: str) -> str:
    """Return a job's output without private keys, values with the name of a secret, and texts that look like one."""
    text = _PRIVATE_KEY.sub(REDACTED, text)
    for pattern in _IN_TEXT:
        text = pattern.sub(rf"\g<name>{REDACTED}", text)
    return text


def _hidden(word: str) -> str:
    return _SECRET.sub(rf"\g<name>{REDACTED}", word)


class Anonymous:
    """Anonymise several texts; ``taken_out`` counts the replacements.

    ``users``: names to replace, in addition to the users of homes in paths.
    """

    def __init__(self, users: Iterable[str] = ()) -> None:
        self._names: dict[str, str] = {}
        self._kinds: Counter[str] = Counter()
        self._counts: dict[str, Counter[str]] = {}
        for user in users:
            self._user(user)

    def learn(self, text: str) -> None:
        """Replace, from now on, the names of users whose homes are in ``text``."""
        for home in _HOMES.findall(text):
            self._user(home)

    def text(self, text: str, file: str) -> str:
        """Return ``text`` of ``file`` without secrets, user names and addresses."""
        secrets = without_secrets(text)
        self._note(file, REDACTED, secrets.count(REDACTED) - text.count(REDACTED))
        self.learn(secrets)
        found = self._replaced(_MAIL, "mail", secrets, file)
        found = self._replaced(_HARDWARE, "address", found, file)
        found = self._replaced(_IPV6, "address", found, file)
        found = self._replaced(_IPV4, "address", found, file)
        users = "|".join(re.escape(name) for name in sorted(self._users(), key=len, reverse=True))
        if not users:
            return found
        return re.sub(rf"(?<![\w.-])(?:{users})(?![\w-])", lambda hit: self._noted(hit[0], "user", file), found)

    def value(self, value: Any, file: str) -> Any:
        """Return a JSON value with every string anonymised like ``text``."""
        if isinstance(value, str):
            return self.text(value, file)
        if isinstance(value, list):
            return [self.value(item, file) for item in value]
        if isinstance(value, dict):
            return {self.text(key, file): self.value(item, file) for key, item in value.items()}
        return value

    def taken_out(self) -> Iterator[tuple[str, str, int]]:
        """Yield (file, replacement, count), without the original texts."""
        for file, counts in sorted(self._counts.items()):
            yield from ((file, what, count) for what, count in sorted(counts.items()))

    def _replaced(self, pattern: re.Pattern[str], kind: str, text: str, file: str) -> str:
        def put(hit: re.Match[str]) -> str:
            if kind == "address" and pattern is not _HARDWARE and not _is_address(hit[0]):
                return hit[0]
            return self._noted(hit[0], kind, file)

        return pattern.sub(put, text)

    def _noted(self, original: str, kind: str, file: str) -> str:
        name = self._name(original, kind)
        self._note(file, name, 1)
        return name

    def _note(self, file: str, what: str, count: int) -> None:
        if count > 0:
            self._counts.setdefault(file, Counter())[what] += count

    def _user(self, name: str) -> None:
        if name and name not in _COMMON:
            self._name(name, "user")

    def _users(self) -> list[str]:
        return [original for original, name in self._names.items() if name.startswith("user-")]

    def _name(self, original: str, kind: str) -> str:
        if original not in self._names:
            self._kinds[kind] += 1
            self._names[original] = f"{kind}-{self._kinds[kind]}"
        return self._names[original]


def _is_address(text: str) -> bool:
    """Return whether ``text`` is an IP address and not a loopback or unspecified one; versions and times are not."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified)
