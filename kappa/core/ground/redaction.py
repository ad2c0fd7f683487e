"""Remove secrets, user names and addresses from text that other people will see.

JSON and YAML are redacted by their keys. Other text is redacted line by line: detect-secrets finds what it knows, and
the patterns of this file find the rest. At last names of users and addresses are replaced, which any text may show.
"""

import functools
import itertools
import json
import math
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kappa.core.ground.clean_text import clean_object
from kappa.core.ground.pseudonyms import Pseudonyms
from kappa.core.ground.shown_names import FIGURE, shows_site_key, shows_variable

REDACTED = "REDACTED"
# Longer lines are redacted in pieces: the time of some patterns grows with the square of the length.
_PIECE = re.compile(r".{1,1000}(?=[\s,;&|]|$)|.{1,1000}", re.S)
_MOST_LINES_KEPT = 20_000
_MOST_SECRETS = 200
_MOST_DAMAGED = 20
# A secret that other texts may have: neither a word of a language, nor the name of a variable, nor a replacement.
_DISTINCT = re.compile(r"(?![$<{(])(?=[A-Za-z]*[^A-Za-z])(?!\S*REDACTED)\S{6,4096}")

# Names of secrets. They may have any beginning.
_WORDS = (
    r"(?:token|passw|passphrase|passcode|secret|credential|authorization|bearer|cookie|webhook|apikey|jwt"
    r"|(?<=[a-z0-9_-])key(?![a-z]{3})|(?<![a-z])key(?==)|(?<=[a-z] )key(?=\s?[:=])"
    r"|(?<=[_-])pass(?![a-z])|(?<![a-z])pass(?==)|(?<![a-z])(?:auth|pwd)(?![a-z])"
    r"|(?<=[?&])sig|(?<=amz-)signature)[\w.-]{0,64}+(?: for [\w.@-]{1,64})?"
)
_SECRET_NAME = re.compile(rf"{_WORDS}|^(?:pass|pw|psk|pin|otp|gecos|full_?name|real_?name)$", re.IGNORECASE)
# Numbers of tokens and keys are figures.
_COUNT = re.compile(r"(?:[^s]s|count|_per_\w+)$", re.IGNORECASE)
_QUOTED = r"\"(?:[^\"\\\n]|\\.)*\"[^\s,;})\]]*|'[^'\n]*'[^\s,;})\]]*"
_VALUE = rf"(?P<value>{_QUOTED}|[^\s,;)\"']+)"
_NAMED = re.compile(
    rf"(?P<name>{_WORDS})(?P<to>[\"']?\s?\]?[ \t]*(?:value[ \t]*)?(?:=>|:=|[:=>])=?[ \t]*)"
    rf"(?!{REDACTED}\b)(?P<value>{_QUOTED}|\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_OPTION_WORD = re.compile(r"(?<!\S)--?[\w.-]{1,64}=(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s\"'])+")
_OPTION = re.compile(rf"(?<!\S)(?P<name>--?[\w.-]{{1,64}})(?P<to>[ \t=]+)(?!--)(?P<value>{_QUOTED}|\S+)")
_OWNERS = re.compile(r"-A|--(?:account|uid|gid|wckey|mail-user|reservation|comment)")
# Options whose value is a user, perhaps with a password, and programs whose option -p is a password.
_LOGIN = re.compile(r"-u|--(?:proxy-)?user")
_CLIENT = re.compile(
    r"(?P<name>\b(?:docker|podman|mysql\w*|mariadb|sshpass|ldap\w+)\b[^|;]*?\s-[pw])(?P<to>\s?)(?P<value>\S+)"
)
_SPOKEN = re.compile(
    r"(?P<name>\b(?:passw(?:or)?d|passphrase|secret|token|(?:api|licen[cs]e|access) key))"
    r"(?P<to>[ \t]+(?:(?:is|was)[ \t]+)?)"
    rf"(?P<value>{_QUOTED}|(?=\S{{0,99}}[^\sA-Za-z.,:;()])\S{{4,}})",
    re.IGNORECASE,
)
# A line of `env`, and a variable among other words.
_VARIABLE_LINE = re.compile(r"^(?P<name>[A-Z_][A-Z0-9_]{2,63})=(?P<value>\S.*)")
_VARIABLE = re.compile(rf"(?<![\w.$%{{-])(?P<name>[A-Z][A-Z0-9_]{{2,63}})=(?P<value>{_QUOTED}|\S*)")
# What stands before a variable that is set; figures of programs are written like `NX=4` in a line.
_SETS = re.compile(r"\b(?:export|g?env|declare|setenv|sudo)\b|\s-x\s|--e|[;&,]\s*$")
_SET_VARIABLE = re.compile(rf"(?<=env[ (])[\"']?(?P<name>[A-Za-z_]\w{{1,63}})(?P<to>[\"' \t,]+){_VALUE}")
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?"
    r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
    re.DOTALL,
)
# Texts that detect-secrets does not know, or not as a whole: tokens by their prefixes, webhooks, files of keys.
_SECRET_TEXTS = re.compile(
    r"(?-i:(?<![A-Za-z0-9])(?:hf_|sk[-_]|xox[a-z]-|gh[a-z]_|github_pat_|gl(?:pat|dt|rt|cbt|ptt|ft|soat)-|A[KS]IA"
    r"|AIza|ya29\.|eyJ|nvapi-|hvs\.|dckr_pat_|npm_|pypi-)[\w.+/-]{12,})"
    r"|(?<=://)[^\s/@]{1,500}(?=@)"
    r"|https?://(?=[^\s\"'<>]{0,300}hook)[^\s\"'<>]+"
    r"|\$(?:1|2[aby]|5|6|y|argon2\w*)\$[\w./$=,+-]{8,}|(?<=\s-u)\s*[^\s:]+:\S+"
    r"|(?<=\bbearer )\s*\S+|(?<=\bbasic )\s*[\w+/=]{8,}"
    r"|(?<![\w.:-])[^\s:]{0,64}:[^\s:]{0,200}:\d+:\d+:[^\n]*:[^\n]*/[^\n]*",
    re.IGNORECASE,
)
_KEY_FILE = re.compile(r"\.ssh/|\bid_(?:rsa|dsa|ecdsa|ed25519)|\.(?:pem|ppk|p12|pfx|keytab)\b|\bkrb5cc_", re.IGNORECASE)
_PATH = re.compile(r"[^\s\"'=,;]+")
_LONG = re.compile(r"\S{16}")
# But not a C++ symbol.
_RANDOM = re.compile(r"(?<![A-Za-z0-9+/_-])(?!_Z)[A-Za-z0-9+/_-]{20,}={0,2}")
_END_OF_BLOCK = re.compile(r"\s*(?=[a-z]*[A-Z0-9+/=])[A-Za-z0-9+/=]{2,100}\s*")
_REST = re.compile(r"[^\s\"'`,;<>)\]}]*")
_HEX = re.compile(r"(?:0x)?[0-9a-f]{32,}", re.IGNORECASE)
_HASH = re.compile(r"(?:sha\d+[:-])?[0-9a-f]{7,128}(?:-dirty)?|[a-z2-7]{32}|[0-9a-f-]{36}", re.IGNORECASE)
_HASH_NAME = re.compile(r"sha-?\d|md5|hash|digest|checksum|uuid|guid|revision|commit|build.?id|^files$", re.IGNORECASE)
_HASH_LABEL = re.compile(
    r"(?:sha-?\d{1,3}(?:sum)?|md5(?:sum)?|hash|digest|checksum|revision|commit|build.?id)\W{0,4}$", re.I
)
_NO_TEXT = re.compile(r"[\s\d.,:;+eE%|/()\[\]-]*")
_JSON_START = re.compile(r"^[ \t]*(?=[\[{][\s\"\[{])", re.MULTILINE)
# Maps of figures: their keys are names of metrics and curves.
_FIGURES = frozenset({"perfvalues", "per_node", "curves", "heat_maps", "matrices", "reference_sources", "unmeasured"})
_USER_NAMES = re.compile(r"(?:\w+_)?(?:user|owner|account|login)s?(?:_?names?)?", re.IGNORECASE)
_VARIABLES = re.compile(r"env(?:iron(?:ment)?)?(?:_?vars?|_variables)?", re.IGNORECASE)
# Keys of a name and of its value, if the two are values of one object.
_NAME_KEYS = ("name", "key", "variable", "option", "field", "k")
_VALUE_KEYS = ("value", "val", "v")
# An object of a name and its value is small.
_MOST_KEYS = 8


def redacted(command_line: str) -> str:
    """Return ``command_line`` without the values of words and options that name a secret."""
    if not (_SECRET_NAME.search(command_line) or _SECRET_TEXTS.search(command_line)):
        return command_line
    try:
        words = shlex.split(command_line)
    except ValueError:
        return _without_named(command_line)
    return shlex.join(map(_without_named, _arguments(words)))


def _arguments(words: Sequence[str]) -> list[str]:
    """Return a command's words without those that are the value of the option before, if this is a secret's."""
    return [REDACTED if _is_value(*pair) else pair[1] for pair in itertools.pairwise(["", *words])]


def _is_value(option: str, word: str) -> bool:
    if not option.startswith("-") or "=" in option:
        return False
    return _names_secret(option) or (":" in word and bool(_LOGIN.fullmatch(option)))


def _without_named(text: str) -> str:
    return _SECRET_TEXTS.sub(REDACTED, _NAMED.sub(rf"\g<name>\g<to>{REDACTED}", text))


def _names_secret(name: str) -> bool:
    return bool(_SECRET_NAME.search(name.lstrip("-")))


@functools.cache
def _detectors() -> tuple[tuple[re.Pattern[str], ...], Any, Any]:
    """Return the patterns of detect-secrets, and its measures of random base64 and hexadecimal text."""
    # It imports an HTTP client, which most commands do not need.
    from detect_secrets.plugins.base import RegexBasedDetector  # noqa: PLC0415
    from detect_secrets.settings import default_settings, get_plugins  # noqa: PLC0415

    with default_settings():
        plugins = {plugin.secret_type: plugin for plugin in get_plugins()}
    # Addresses get names, so that a reader can tell them apart.
    plugins.pop("Public IP (ipv4)", None)
    by_pattern = [plugin for plugin in plugins.values() if isinstance(plugin, RegexBasedDetector)]
    patterns = [pattern for plugin in by_pattern for pattern in plugin.denylist]
    return tuple(patterns), plugins["Base64 High Entropy String"], plugins["Hex High Entropy String"]


class Redaction:
    """Redact several texts; equal replacements stand for equal originals.

    First call `secrets` for every text, then `names` for its results: a later text may show that a word is a secret or
    the name of a user.

    ``users``: names of users. ``keep``: words that stay readable, for instance the names of nodes.
    """

    def __init__(self, users: Iterable[str] = (), keep: Iterable[str] = ()) -> None:
        self._keep = {*keep}
        self._pseudonyms = Pseudonyms(users, self._keep)
        self._counts: dict[str, Counter[str]] = {}
        self._secrets: set[str] = set()
        self._lines: dict[str, str] = {}

    def text(self, text: str, file: str) -> str:
        """Return ``text`` of ``file`` without secrets, and without the names of users that are known so far."""
        return self.names(self.secrets(text, file), file)

    def secrets(self, text: str, file: str) -> str:
        """Return ``text`` of ``file`` without secrets: JSON by its keys, other text line by line."""
        shown, end = [], 0
        for begin, until, document in _json_documents(text):
            result = self.value(document)
            indent = 1 if "\n" in text[begin:until] else None
            shown += [self._free(text[end:begin]), text[begin:until] if result == document else as_json(result, indent)]
            end = until
        result = "".join([*shown, self._free(text[end:])])
        self.note(file, REDACTED, result.count(REDACTED) - text.count(REDACTED))
        return result

    def value(self, value: Any) -> Any:
        """Return a value of JSON or YAML without secrets, and without parts that are nested too deeply."""
        try:
            if isinstance(value, str):
                return self._free(value)
            if isinstance(value, list):
                return self._list(value)
            if isinstance(value, dict):
                return self._object(value)
            # YAML has other kinds, such as sets.
            return value if value is None or isinstance(value, bool | int | float) else REDACTED
        except RecursionError:
            return REDACTED

    def _list(self, value: list[Any]) -> list[Any]:
        if all(isinstance(item, str) for item in value):
            value = _arguments(value)
        if _is_pair(value) and self._hides(*value):
            value = [value[0], self._hidden(value[1])]
        return [self.value(item) for item in value]

    def _object(self, value: dict[str, Any]) -> dict[str, Any]:
        name = _name_in(value)
        hides = name is not None and len(value) <= _MOST_KEYS and self._hides(name, "")
        shown = {}
        for key, item in value.items():
            is_value = _lower(key) in _VALUE_KEYS or not (_lower(key) in _NAME_KEYS or isinstance(item, int | float))
            shown[self._free(str(key))] = self._hidden(item) if hides and is_value else self._entry(str(key), item)
        return shown

    def site_value(self, value: Any) -> Any:
        """Return a value of a site's description, expectations or references: only allowed keys have their values."""
        if isinstance(value, list):
            return self.value(value) if _is_reference(value) else [self.site_value(item) for item in value]
        if not isinstance(value, dict):
            return value if value is None or isinstance(value, bool) else REDACTED
        return {
            self._free(str(key)): self._entry(str(key), item)
            if shows_site_key(str(key), item) or _VARIABLES.fullmatch(str(key))
            else self.site_value(item)
            for key, item in value.items()
        }

    def names(self, text: str, file: str) -> str:
        """Return ``text`` of ``file`` with replacements for secrets of other texts, users, mails and addresses."""
        before = text.count(REDACTED)
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, REDACTED)
        self.note(file, REDACTED, text.count(REDACTED) - before)
        text, counts = self._pseudonyms.replaced(text)
        for name, count in counts.items():
            self.note(file, name, count)
        return text

    def note(self, file: str, what: str, count: int) -> None:
        """Add ``count`` replacements ``what`` in ``file`` to those that `taken_out` lists."""
        if count > 0:
            self._counts.setdefault(file, Counter())[what] += count

    def taken_out(self) -> Iterator[tuple[str, str, int]]:
        """Yield (file, replacement, count), without the original texts."""
        for file, counts in sorted(self._counts.items()):
            yield from ((file, what, count) for what, count in sorted(counts.items()))

    def _entry(self, key: str, item: Any) -> Any:
        """Return the value ``item`` of ``key`` without secrets."""
        if key in _FIGURES:
            # The names of metrics are no names of secrets.
            figures = item if isinstance(item, dict) else {}
            return {name: self.value(figure) for name, figure in figures.items()} or self.value(item)
        if _VARIABLES.fullmatch(key) and isinstance(item, dict | list):
            return self._variables(item)
        if self._hides(key, item):
            return self._hidden(item)
        if _HASH_NAME.search(key):
            hashes = item if isinstance(item, dict) else {"": item}
            self._keep.update(text for text in hashes.values() if isinstance(text, str) and _HASH.fullmatch(text))
        if _USER_NAMES.fullmatch(key):
            users = item if isinstance(item, list) else [_name_in(item) if isinstance(item, dict) else item]
            for user in users:
                self._pseudonyms.learn(f"user={user}")
        return self.value(item)

    def _variables(self, item: Any) -> Any:
        """Return environment variables: a map, a list of pairs, or a list of objects with name and value."""
        if isinstance(item, dict):
            return {self._free(str(name)): self._variable(str(name), value) for name, value in item.items()}
        if not isinstance(item, list):
            return self.value(item)
        shown: list[Any] = []
        for entry in item:
            name = _name_in(entry) if isinstance(entry, dict) else None
            if _is_pair(entry):
                shown.append([entry[0], self._variable(*entry)])
            elif name is not None:
                shown.append({
                    key: self._variable(name, value) if _lower(key) in _VALUE_KEYS else self.value(value)
                    for key, value in entry.items()
                })  # fmt: skip
            else:
                shown.append(self.value(entry))
        return shown

    def _hides(self, name: str, value: Any) -> bool:
        """Return whether ``name`` is a secret's, and ``value`` is not its number."""
        if value is None or isinstance(value, bool) or not _names_secret(name):
            return False
        return not _COUNT.search(name) or (isinstance(value, str) and not FIGURE.fullmatch(value))

    def _hidden(self, value: Any) -> str:
        """Return the replacement of a secret, and hide it in other texts, too."""
        if isinstance(value, list | dict):
            for item in value.values() if isinstance(value, dict) else value:
                self._hidden(item)
        elif isinstance(value, str):
            value = value.strip(" \t\"'`,;")
            # A short word or a number may occur anywhere.
            distinct = _DISTINCT.fullmatch(value) and not FIGURE.fullmatch(value) and value not in self._keep
            if distinct and len(self._secrets) < _MOST_SECRETS:
                self._secrets.add(value)
        return REDACTED

    def _variable(self, name: str, value: Any) -> Any:
        if _names_secret(name):
            return self._hidden(value)
        return self.value(value) if shows_variable(name, str(value)) else REDACTED

    def _free(self, text: str) -> str:
        """Return a text without secrets, line by line."""
        text = _PRIVATE_KEY.sub(REDACTED, text)
        if text not in self._lines:
            self._pseudonyms.learn(text)
        shown: list[str] = []
        within_block = False
        for line in text.split("\n"):
            if line not in self._lines:
                if len(self._lines) >= _MOST_LINES_KEPT:
                    self._lines.clear()
                self._lines[line] = self._line(line)
            result = self._lines[line]
            # The last line of a block of random text is short.
            if within_block and _END_OF_BLOCK.fullmatch(result):
                result = REDACTED
            within_block = result.strip() == REDACTED != line.strip()
            shown.append(result)
        return "\n".join(shown)

    def _line(self, line: str) -> str:
        shown = []
        for piece in _PIECE.findall(line):
            shown.append(self._piece(piece))
            # The secret goes on in the next piece.
            if shown[-1].endswith(REDACTED):
                break
        return "".join(shown)

    def _piece(self, line: str) -> str:
        if _NO_TEXT.fullmatch(line):
            return line
        # The words after an option stay.
        line = _OPTION_WORD.sub(lambda hit: _NAMED.sub(self._named, hit[0]), line)
        line = _NAMED.sub(self._named, line)
        line = _OPTION.sub(self._option, line)
        line = _CLIENT.sub(self._replaced, _SPOKEN.sub(self._replaced, line))
        for pattern in (_VARIABLE_LINE, _VARIABLE, _SET_VARIABLE):
            line = pattern.sub(self._assigned, line)
        line = _SECRET_TEXTS.sub(lambda hit: self._hidden(hit[0]), line)
        if _KEY_FILE.search(line):
            line = _PATH.sub(lambda hit: REDACTED if _KEY_FILE.search(hit[0]) else hit[0], line)
        if not _LONG.search(line):
            return line
        patterns, base64, hexadecimal = _detectors()
        for pattern in patterns:
            for hit in [*pattern.finditer(line)][::-1]:
                # The library's patterns may end before the secret does.
                rest = _REST.match(line, hit.end())
                end = rest.end() if rest else hit.end()
                line = line[: hit.start()] + self._hidden(line[hit.start() : end]) + line[end:]
        return _RANDOM.sub(lambda hit: self._random(hit, base64, hexadecimal), line)

    def _named(self, hit: re.Match[str]) -> str:
        number = _COUNT.search(hit["name"]) and FIGURE.fullmatch(hit["value"].rstrip(" ,;}])"))
        return hit[0] if number else self._replaced(hit)

    def _option(self, hit: re.Match[str]) -> str:
        name, value = hit["name"], hit["value"]
        if _names_secret(name) or (_LOGIN.fullmatch(name) and ":" in value):
            return self._replaced(hit)
        return f"{name}{hit['to']}{REDACTED}" if _OWNERS.fullmatch(name) else hit[0]

    def _assigned(self, hit: re.Match[str]) -> str:
        """Return the assignment of a variable with its value only if others may see it."""
        name, value = hit["name"], hit["value"]
        bare = value.strip("\"'")
        before = hit.string[: hit.start()]
        if not value or FIGURE.fullmatch(bare) or REDACTED in value or shows_variable(name, bare):
            return hit[0]
        if before and "_" not in name and not _SETS.search(before):
            return hit[0]
        return hit[0][: -len(value)] + REDACTED

    def _replaced(self, hit: re.Match[str]) -> str:
        return f"{hit['name']}{hit['to']}{self._hidden(hit['value'])}"

    def _random(self, hit: re.Match[str], base64: Any, hexadecimal: Any) -> str:
        """Return the text of ``hit``, or a replacement if it is random and no hash that the record has."""
        text = hit[0]
        if text in self._keep or (_HASH.fullmatch(text) and _HASH_LABEL.search(hit.string[: hit.start()])):
            return text
        if _HEX.fullmatch(text):
            random = hexadecimal.calculate_shannon_entropy(text) > hexadecimal.entropy_limit
            return self._hidden(text) if random else text
        # The parts of a path are shorter than those of base64, in which a slash is as rare as any letter.
        parts = [text] if len(text) > 16 * text.count("/") else text.split("/")
        return self._hidden(text) if any(_is_random(part, base64) for part in parts) else text


def as_json(value: Any, indent: int | None = 1) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=False)


def _json_documents(text: str) -> Iterator[tuple[int, int, Any]]:
    """Yield (begin, end, document) of each JSON array and object that begins a line."""
    decoder = json.JSONDecoder(object_pairs_hook=clean_object)
    end = damaged = 0
    for start in _JSON_START.finditer(text):
        # Each bracket of a damaged document begins another, which may end with the text.
        if start.end() < end or damaged > _MOST_DAMAGED:
            continue
        try:
            document, end = decoder.raw_decode(text, start.end())
        except (ValueError, RecursionError):
            damaged += 1
        else:
            yield start.end(), end, document


def _is_random(text: str, measure: Any) -> bool:
    """Return whether ``text`` is as random as a key: its kind of character changes often, unlike that of names."""
    kinds = [char.isdigit() + 2 * char.isupper() for char in text if char.isalnum()]
    changes = sum(a != b for a, b in itertools.pairwise(kinds))
    if len(text) < 20 or len({*kinds}) < 3 or changes < 0.4 * len(kinds):
        return False
    # A short text cannot reach the library's limit.
    limit = min(measure.entropy_limit, 0.85 * math.log2(len(text)))
    return bool(measure.calculate_shannon_entropy(text) > limit)


def _is_reference(value: list[Any]) -> bool:
    """Return whether ``value`` is a reference: its value, its bounds, and its unit."""
    *figures, unit = value or [None]
    return (
        len(figures) == 3 and all(isinstance(figure, int | float | None) for figure in figures) and len(str(unit)) <= 20
    )


def _lower(key: object) -> str:
    return str(key).lower()


def _is_pair(value: Any) -> bool:
    """Return whether ``value`` is a list of a name and its value."""
    return isinstance(value, list) and len(value) == 2 and isinstance(value[0], str)


def _name_in(value: dict[str, Any]) -> str | None:
    """Return the name in an object that has a name and a value."""
    return next((item for key, item in value.items() if _lower(key) in _NAME_KEYS and isinstance(item, str)), None)
