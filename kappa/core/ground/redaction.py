"""Remove secrets, user names and addresses from text that other people will see.

JSON and YAML are redacted by their keys. Other text is redacted line by line: by the names of secrets and variables, by
the known forms of tokens, and by detect-secrets. At last names of users and addresses are replaced.
"""

import functools
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from kappa.core.ground.clean_text import clean_object
from kappa.core.ground.pseudonyms import Pseudonyms
from kappa.core.ground.shown_names import FIGURE, shows_site_key, shows_variable

REDACTED = "REDACTED"
_REPLACEMENT = re.compile(rf"{REDACTED}\b(?!\.txt)|\b(?:user|mail|address)-\d+")
_MOST_SECRETS = 200
_QUOTED = r"\"(?:[^\"\\\n]|\\.)*\"[^\s,;})\]]*|'[^'\n]*'[^\s,;})\]]*"
# A part of the name of a secret.
_WORD = (
    r"(?:token|passw|passphrase|secret|credential|authorization|bearer|cookie|webhook|signature"
    r"|(?<=\w)[ _-]?key(?![a-z])|(?<=[_-])pass(?![a-z])|\bpass(?==)|(?<![a-z])(?:auth|pwd)(?![a-z]))"
)
_SECRET_NAME = re.compile(rf"{_WORD}|^(?:pass|pw|psk|pin|otp)$", re.IGNORECASE)
# The numbers of tokens and keys are figures.
_COUNT = re.compile(r"(?:[^s]s|count|_per_\w+)$", re.IGNORECASE)
# `HF_TOKEN: x`, `"password": "x"`: a value without quotes ends with the line.
_NAMED = re.compile(
    rf"(?P<name>{_WORD}[\w.-]{{0,64}}+)(?P<to>[\"']?[ \t]*[:=>]+[ \t]*)(?!{REDACTED})(?P<value>{_QUOTED}|\S.*)",
    re.IGNORECASE | re.DOTALL,
)
# `--password x`, `-A x`, `-S check.token=x`: a value ends with its word.
_OPTION = re.compile(
    r"(?<!\S)(?P<name>--?[\w.-]{1,64})(?P<to>[ \t=]+)(?!-)(?P<value>(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s\"'])+)"
)
_ASSIGNMENTS = (
    # A line of `env` or of a script.
    re.compile(r"^\s*(?:export |declare -x )?(?P<name>[A-Z_][A-Z0-9_]{2,63})=(?P<value>\S.*)"),
    # Among other words; shorter names are those of programs' figures.
    re.compile(rf"(?<![\w.$%{{-])(?P<name>[A-Z][A-Z0-9_]{{3,63}})=(?P<value>{_QUOTED}|\S+)"),
    # `setenv NAME x` of csh, `setenv("NAME", "x")` of Lmod, `mpirun -genv NAME x`
    re.compile(rf"(?:\bsetenv|\s-g?env)[ (][\"']?(?P<name>[A-Za-z_]\w{{1,63}})[\"' \t,]+(?P<value>{_QUOTED}|\S+)"),
)
# A private key, and lines of base64; the last line may be short.
_BLOCK = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?s:.*?)(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]*-----|\Z)"
    r"|(?:^[A-Za-z0-9+/]{40,}+={0,2}\n)++(?:[A-Za-z0-9+/]++={0,2}$)?",
    re.MULTILINE,
)
_KNOWN_FORM = re.compile(
    r"""
      (?<![A-Za-z0-9])(?:hf_|sk[-_]|xox[a-z]-|gh[a-z]_|github_pat_|gl[a-z]{2,4}-|A[KS]IA|AIza|ya29\.|eyJ|nvapi-|hvs\.
        |dckr_pat_|npm_|pypi-)[\w.+/-]{12,}               # tokens of any length; detect-secrets wants the right one
    | (?<=://)[^\s/@]{1,500}(?=@)                         # user and password in an address
    | https?://[^\s"'<>]{0,300}?(?i:hook)[^\s"'<>]*       # webhooks
    | (?<![^\s"'=,;])[^\s"'=,;]{0,300}?                   # paths of keys, from the beginning of the word
        (?:\.ssh/|\bid_(?:rsa|dsa|ecdsa|ed25519)|\.(?:pem|ppk|p12|pfx|keytab)\b|\bkrb5cc_)[^\s"'=,;]*
    | (?i:(?<=\bbearer\ )|(?<=\bsshpass\ -p\ )|(?<=\bpassword\ )|(?<=\bpassphrase\ ))(?:is\ )?\S+  # behind a blank
    | (?:(?<=\s-u)|(?<=\s-u\ )|(?<=-user\ )|(?<=-user=))[^\s:]+:\S+      # user and password of curl
    """,
    re.VERBOSE,
)
# detect-secrets gets pieces of a line: the time of some of its patterns grows with the square of the length.
_PIECE = re.compile(r".{1,1000}(?!\S)|.{1,1000}")
_LONG_WORD = re.compile(r"\S{16}")
# Hexadecimal text, and words of small and large letters and digits that are neither parts of a path nor C++ symbols.
_HEX = r"(?<![A-Za-z0-9])(?:0x)?[0-9a-fA-F]{32,}(?![A-Za-z0-9])"
_MIXED = r"(?<![A-Za-z0-9+])(?<!\b_)(?=[A-Z0-9+]*[a-z])(?=[a-z0-9+]*[A-Z])(?=[A-Za-z+]*\d)[A-Za-z0-9+]{20,}={0,2}"
_RANDOM = re.compile(f"{_HEX}|{_MIXED}")
_HASH_NAME = re.compile(r"sha-?\d|md5|hash|digest|checksum|uuid|revision|commit|build.?id|^files$", re.IGNORECASE)
# A secret that other texts may have: neither a word of a language, nor the name of a variable, nor a replacement.
_DISTINCT = re.compile(r"(?![$<{(])(?=[A-Za-z]*[^A-Za-z])(?!\S*REDACTED)\S{6,4096}")
_ENVIRONMENT_KEY = re.compile(r"env(?:iron(?:ment)?)?(?:_?vars?|_variables)?", re.IGNORECASE)


def redacted(command_line: str) -> str:
    """Return ``command_line`` without the values of words and options that name a secret."""
    return Redaction().by_names_and_forms(command_line)


@functools.cache
def _detectors() -> tuple[list[re.Pattern[str]], list[Any]]:
    """Return the patterns of detect-secrets, and its measures of random text."""
    # The library imports an HTTP client, which most commands do not need.
    from detect_secrets.settings import default_settings, get_plugins  # noqa: PLC0415

    with default_settings():
        plugins = {plugin.secret_type: plugin for plugin in get_plugins()}
    # Addresses get names, so that a reader can tell them apart.
    del plugins["Public IP (ipv4)"]
    # Most keys have 28 to 40 characters, too few for the library's limit.
    plugins["Base64 High Entropy String"].entropy_limit = 4.2
    patterns = [pattern for plugin in plugins.values() for pattern in getattr(plugin, "denylist", ())]
    return patterns, [plugin for plugin in plugins.values() if hasattr(plugin, "entropy_limit")]


class Redaction:
    """Redact several texts; equal replacements stand for equal originals.

    First call `secrets` for every text, then `names` for its results: a later text may show that a word is a secret or
    the name of a user.

    ``users``: names of users. ``keep``: words that stay readable, for instance the names of nodes.
    """

    def __init__(self, users: Iterable[str] = (), keep: Iterable[str] = ()) -> None:
        self._keep = {*keep}
        self._pseudonyms = Pseudonyms(users, self._keep)
        self._counts: Counter[tuple[str, str]] = Counter()
        self._secrets: set[str] = set()

    def text(self, text: str, file: str) -> str:
        """Return ``text`` of ``file`` without secrets, and without the names of users that are known so far."""
        return self.names(self.secrets(text, file), file)

    def secrets(self, text: str, file: str) -> str:
        """Return ``text`` of ``file`` without secrets."""
        return self._json(text) or self._free(text)

    def names(self, text: str, file: str) -> str:
        """Return ``text`` of ``file`` with replacements for secrets of other texts, users, mails and addresses."""
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, REDACTED)
        text = self._pseudonyms.replaced(text)
        for what in _REPLACEMENT.findall(text):
            self.note(file, what)
        return text

    def note(self, file: str, what: str) -> None:
        """Add a replacement ``what`` in ``file`` to those that `taken_out` lists."""
        self._counts[file, what] += 1

    def taken_out(self) -> Iterator[tuple[str, str, int]]:
        """Yield (file, replacement, count), without the original texts."""
        yield from ((file, what, count) for (file, what), count in sorted(self._counts.items()))

    def site_value(self, value: Any) -> Any:
        """Return a value of a site's description, expectations or references: only allowed keys have their values."""
        if isinstance(value, dict):
            return {
                self._free(str(key)): self._entry(key, item)
                if shows_site_key(key, item) or shows_variable(str(key), str(item))
                else self.site_value(item)
                for key, item in value.items()
            }
        if isinstance(value, list):
            is_reference = len(value) == 4 and isinstance(value[0], int | float)
            return self.value(value) if is_reference else [self.site_value(item) for item in value]
        return value if value is None or isinstance(value, bool) else REDACTED

    def value(self, value: Any, in_environment: bool = False) -> Any:
        """Return a value of JSON or YAML without secrets, and without parts that are nested too deeply."""
        try:
            if isinstance(value, str):
                return self._free(value)
            if isinstance(value, list):
                if in_environment and len(value) == 2 and isinstance(value[0], str):
                    return [value[0], self._entry(value[0], value[1], in_environment)]
                # A secret follows its name, or its option in a command.
                pairs = itertools.pairwise(["", *value])
                return [self._hidden(b) if _hides(a, b) else self.value(b, in_environment) for a, b in pairs]
            if isinstance(value, dict):
                # An object may have a name and a value.
                names = {"value": value.get("name", "value")}
                return {self._free(str(k)): self._entry(names.get(k, k), v, in_environment) for k, v in value.items()}
        except RecursionError:
            return REDACTED
        # YAML has other kinds, such as sets.
        return value if value is None or isinstance(value, bool | int | float) else REDACTED

    def _entry(self, key: object, item: Any, in_environment: bool = False) -> Any:
        """Return the value ``item`` of ``key`` without secrets."""
        if _hides(key := str(key), item):
            return self._hidden(item)
        if in_environment and not isinstance(item, dict | list) and not shows_variable(key, str(item)):
            return REDACTED
        if _HASH_NAME.search(key):
            hashes = item.values() if isinstance(item, dict) else [item]
            self._keep.update(text for text in hashes if isinstance(text, str) and re.fullmatch(_HEX, text))
        if isinstance(item, str):
            self._pseudonyms.learn(f"{key}={item}")
        return self.value(item, in_environment or bool(_ENVIRONMENT_KEY.fullmatch(key)))

    def _hidden(self, value: Any) -> str:
        """Return the replacement of a secret, or of a match of one, and hide it in other texts, too."""
        text = str(value[0] if isinstance(value, re.Match) else value).strip(" \t\"'`,;")
        # A short word or a number may occur anywhere.
        is_distinct = _DISTINCT.fullmatch(text) and not FIGURE.fullmatch(text) and text not in self._keep
        if is_distinct and len(self._secrets) < _MOST_SECRETS:
            self._secrets.add(text)
        return REDACTED

    def _json(self, text: str) -> str | None:
        """Return a JSON array or object redacted by its keys, or ``None`` if ``text`` is none."""
        if not text.lstrip().startswith(("{", "[")):
            return None
        try:
            document = json.loads(text, object_pairs_hook=clean_object)
        except (ValueError, RecursionError):
            return None
        result = self.value(document)
        return text if result == document else as_json(result, 1 if "\n" in text.strip() else None)

    def _free(self, text: str) -> str:
        """Return a text without secrets, line by line."""
        self._pseudonyms.learn(text)
        return "\n".join(self._json(line) or self._line(line) for line in _BLOCK.sub(REDACTED, text).split("\n"))

    def _line(self, line: str) -> str:
        line = self.by_names_and_forms(line)
        for pattern in _ASSIGNMENTS:
            line = pattern.sub(self._assigned, line)
        return _PIECE.sub(self._detected, line) if _LONG_WORD.search(line) else line

    def by_names_and_forms(self, line: str) -> str:
        """Return ``line`` without values that have the name of a secret, and texts that have the form of one."""
        line = _NAMED.sub(self._named, _OPTION.sub(self._option, line))
        return _KNOWN_FORM.sub(self._hidden, line)

    def _assigned(self, hit: re.Match[str]) -> str:
        """Return the assignment of a variable with its value only if other people may see it."""
        name, value = hit["name"], hit["value"].strip("\"'")
        is_shown = FIGURE.fullmatch(value) or shows_variable(name, value)
        return hit[0] if is_shown else hit[0][: -len(hit["value"])] + REDACTED

    def _option(self, hit: re.Match[str]) -> str:
        is_secret = _SECRET_NAME.search(hit["name"])
        value = self._hidden(hit["value"]) if is_secret else _NAMED.sub(self._named, hit["value"])
        return f"{hit['name']}{hit['to']}{value}"

    def _named(self, hit: re.Match[str]) -> str:
        is_figure = _COUNT.search(hit["name"]) and FIGURE.fullmatch(hit["value"].rstrip(" ,;}])"))
        return hit[0] if is_figure else f"{hit['name']}{hit['to']}{self._hidden(hit['value'])}"

    def _detected(self, piece: re.Match[str]) -> str:
        """Return a piece of a line without what detect-secrets knows as a secret or as random."""
        text = piece[0]
        for pattern in _detectors()[0]:
            text = pattern.sub(self._hidden, text)
        return _RANDOM.sub(self._random, text)

    def _random(self, hit: re.Match[str]) -> str:
        """Return the text of ``hit``, or a replacement if it is random and no hash."""
        if hit[0] in self._keep or _HASH_NAME.search(hit.string[max(0, hit.start() - 12) : hit.start()]):
            return hit[0]
        is_random = any(plugin.calculate_shannon_entropy(hit[0]) > plugin.entropy_limit for plugin in _detectors()[1])
        return self._hidden(hit[0]) if is_random else hit[0]


def _hides(name: object, value: object) -> bool:
    """Return whether ``name`` is a secret's, and ``value`` is not its number."""
    is_figure = _COUNT.search(str(name)) and FIGURE.fullmatch(str(value))
    return isinstance(name, str) and bool(_SECRET_NAME.search(name)) and not is_figure


def as_json(value: Any, indent: int | None = 1) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=False)
