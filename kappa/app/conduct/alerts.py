"""Delivers the alert on a night by mail and to a webhook. A delivery that fails is told, and changes no verdict.

Only a verified server gets an alert, by TLS, unless the user permits others with ``--insecure``. A mail server on this
machine needs no TLS: the letter does not leave the machine there.
"""

import argparse
import contextlib
import email.headerregistry
import email.message
import email.policy
import email.utils
import http.client
import ipaddress
import pathlib
import re
import shutil
import smtplib
import socket
import ssl
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kappa import __version__
from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.errors import InputError
from kappa.core.ground.processes import user_name
from kappa.core.ground.whole_files import read_text
from reports.nightly.alert import NightAlert

# Seconds until a server has to answer, and before each of the repeats.
TIMEOUT_S = 10.0
PAUSES_S = (1.0, 4.0, 10.0)
_MAIL = re.compile(r"[A-Za-z0-9][A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]*(?:@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)?")
_SERVER = re.compile(r"([A-Za-z0-9][A-Za-z0-9.-]*)(?::(\d{1,5}))?")
_SMTP_PORT = 25
_URL_LIMIT_BYTES = 1 << 16
_PROBLEM_LIMIT = 200
# Answers of a web server after which it may take the same request later.
_LATER = (408, 425, 429)
# Beside PATH, which a scheduler cuts short.
_SENDMAIL_FOLDERS = "/usr/sbin:/usr/lib:/usr/local/sbin"


class DeliveryError(Exception):
    """The message was not taken; ``lasting``: it will not be taken later either."""

    def __init__(self, why: str, *, lasting: bool = False) -> None:
        super().__init__(one_line(clean(why), _PROBLEM_LIMIT))
        self.lasting = lasting


@dataclass(frozen=True)
class AlertTargets:
    """Who is told of a night: addresses, by the mail server ``smtp`` or else the local ``sendmail``, and the webhook
    whose URL is in a file; ``insecure``: also where others could read the alert, or receive it instead."""

    mail: tuple[str, ...] = ()
    smtp: str = ""
    webhook_file: pathlib.Path | None = None
    always: bool = False
    insecure: bool = False

    @classmethod
    def of(cls, options: argparse.Namespace) -> "AlertTargets":
        """The targets that ``--mail``, ``--smtp``, ``--webhook-file``, ``--alert`` and ``--insecure`` name."""
        always = options.alert == "always"
        return cls(tuple(options.mail), options.smtp or "", options.webhook_file, always, options.insecure)

    def require_usable(self) -> None:
        """:raises InputError: the webhook's file cannot be used, or there is nothing that sends mail."""
        if self.webhook_file:
            webhook_url(self.webhook_file, insecure=self.insecure)
        if self.mail and not self.smtp:
            _sendmail()

    def deliver(self, alert: NightAlert, note: Callable[[str], None]) -> None:
        """Send ``alert``, if there is something to say. ``note`` keeps a line of each delivery; failed ones are on
        standard error, too."""
        if not self.mail and not self.webhook_file:
            return
        if not alert.because and not self.always:
            _noted("alert: not sent, there is nothing to say that is not acknowledged", note)
            return
        if self.mail:
            _reported(f"mail to {', '.join(self.mail)}", lambda: self._send_mail(alert), note)
        if file := self.webhook_file:
            # The URL is a secret.
            _reported(f"webhook of {clean(str(file))}", lambda: self._post(file, alert), note)

    def _send_mail(self, alert: NightAlert) -> None:
        send_mail(self.mail, self.smtp, alert, insecure=self.insecure)

    def _post(self, file: pathlib.Path, alert: NightAlert) -> None:
        post(webhook_url(file, insecure=self.insecure), alert.document, insecure=self.insecure)


def _reported(what: str, send: Callable[[], object], note: Callable[[str], None]) -> None:
    problem = _tried(send)
    line = f"alert: {what}: not delivered: {problem}" if problem else f"alert: {what}: sent"
    _noted(line, note)
    if problem:
        print(f"kappa: error: {line}", file=sys.stderr)


def _noted(line: str, note: Callable[[str], None]) -> None:
    with contextlib.suppress(OSError):  # a full disk is no matter of the verdict
        note(line)


def _tried(send: Callable[[], object]) -> str:
    """Send until it is taken; returns why it was not, or nothing. Whatever happens, the night's verdict stands."""
    problem = ""
    for pause in (0.0, *PAUSES_S):
        time.sleep(pause)
        try:
            send()
            return ""
        except InputError as err:
            return str(err)
        except DeliveryError as err:
            problem = str(err)
            if err.lasting:
                break
        except Exception as err:
            return f"{type(err).__name__}, a fault of the program"
    return problem


def mail_address(text: str) -> str:
    """``text``, one address that a header and a mail server can take.

    :raises InputError: it is none.
    """
    if not _MAIL.fullmatch(text):
        raise InputError(f"expected a mail address such as ops@example.org, found {one_line(clean(text), 100)!r}")
    return text


def mail_server(text: str) -> str:
    """``text``, ``HOST`` or ``HOST:PORT``.

    :raises InputError: it is neither.
    """
    found = _SERVER.fullmatch(text)
    if not found or int(found[2] or _SMTP_PORT) > 65535:
        raise InputError(f"expected a mail server as HOST or HOST:PORT, found {one_line(clean(text), 100)!r}")
    return text


def send_mail(to: tuple[str, ...], smtp: str, alert: NightAlert, *, insecure: bool = False) -> None:
    """:raises DeliveryError: it was not taken for every address.
    :raises InputError: no program sends mail here."""
    host = socket.getfqdn()
    letter = email.message.EmailMessage(policy=email.policy.SMTP)  # refuses a line break in a header
    letter["From"] = email.headerregistry.Address("Kappa", user_name(), host)
    letter["To"] = ", ".join(to)
    letter["Subject"] = alert.subject
    letter["Date"] = email.utils.localtime()
    letter["Message-ID"] = email.utils.make_msgid(domain=host)
    # Suppresses automatic replies, such as notes of absence.
    letter["Auto-Submitted"] = "auto-generated"
    letter.set_content(alert.text, cte="quoted-printable")
    if smtp:
        _by_server(smtp, to, letter, insecure=insecure)
    else:
        _by_sendmail(letter)


def _by_server(smtp: str, to: tuple[str, ...], letter: email.message.EmailMessage, *, insecure: bool) -> None:
    host, _, port = smtp.partition(":")
    try:
        with smtplib.SMTP(host, int(port or _SMTP_PORT), timeout=TIMEOUT_S) as server:
            if not _on_this_machine(host):
                _encrypt(server, smtp, insecure=insecure)
            refused = server.send_message(letter, to_addrs=to)
    except smtplib.SMTPRecipientsRefused as err:
        refused = err.recipients
    except smtplib.SMTPResponseException as err:
        raise DeliveryError(f"{smtp} answers {err.smtp_code}", lasting=err.smtp_code >= 500) from err
    except (OSError, smtplib.SMTPException) as err:
        raise DeliveryError(f"{smtp}: {_why(err)}") from err
    if refused:
        # Another try would send it again to those who have it.
        lasting = len(refused) < len(to) or all(code >= 500 for code, _ in refused.values())
        raise DeliveryError(f"{smtp} refuses {', '.join(sorted(refused))}", lasting=lasting)


def _on_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _encrypt(server: smtplib.SMTP, smtp: str, *, insecure: bool) -> None:
    server.ehlo_or_helo_if_needed()
    if server.has_extn("starttls"):
        server.starttls(context=_tls(insecure=insecure))
    elif not insecure:
        why = f"{smtp} offers no encryption (STARTTLS): use another server, or permit plain text with --insecure"
        raise DeliveryError(why, lasting=True)


def _tls(*, insecure: bool) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _sendmail() -> str:
    program = shutil.which("sendmail") or shutil.which("sendmail", path=_SENDMAIL_FOLDERS)
    if not program:
        raise InputError("no program sendmail is on this machine: name a mail server with --smtp HOST")
    return program


def _by_sendmail(letter: email.message.EmailMessage) -> None:
    # It takes the addresses from the letter, so that none is an option; a line with a dot alone ends nothing.
    command = [_sendmail(), "-t", "-i"]
    content = letter.as_bytes(policy=email.policy.SMTP.clone(linesep="\n"))
    try:
        done = subprocess.run(command, input=content, capture_output=True, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        raise DeliveryError(f"{command[0]} has not ended after {TIMEOUT_S:g} s") from None
    except OSError as err:
        raise DeliveryError(f"{command[0]}: {err.strerror}", lasting=True) from err
    if done.returncode:
        raise DeliveryError(f"{command[0]} ends with status {done.returncode}: {done.stderr.decode(errors='replace')}")


def webhook_url(file: pathlib.Path, *, insecure: bool = False) -> str:
    """Return the URL on the first line of ``file``. It is a secret, so no message contains it.

    :raises InputError: there is none, others than its owner and group may read it, or its server would be reached
        without encryption, which ``insecure`` permits.
    """
    source = clean(str(file))
    try:
        if file.stat().st_mode & stat.S_IROTH:
            raise InputError(f"{source}: everybody may read this secret: chmod o-r {source}")
        text = read_text(file, _URL_LIMIT_BYTES)
    except OSError as err:
        raise InputError(f"cannot read {source}: {err.strerror}") from err
    except UnicodeDecodeError:
        text = ""
    url = next(iter(text.splitlines()), "").strip()
    if not _is_plain(url):
        raise InputError(f"{source}: expected an https URL without user and password on the first line")
    if not insecure and not url.lower().startswith("https:"):
        raise InputError(
            f"{source}: the URL begins with http://, so the network could read it and the alert: use the https URL of"
            " the service, or permit plain text with --insecure"
        )
    return url


def _is_plain(url: str) -> bool:
    if not re.fullmatch(r"[!-~]+", url):
        return False
    try:
        parts = urllib.parse.urlsplit(url)
        plain = bool(parts.hostname) and "@" not in parts.netloc and parts.port != 0
        return plain and parts.scheme in ("http", "https")
    except ValueError:
        return False


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Refuse redirects: no other server may receive the data for a secret URL."""

    def redirect_request(self, *_: Any) -> None:
        return None


def post(url: str, document: str, *, insecure: bool = False) -> None:
    """POST ``document``, which is JSON, to ``url``.

    :raises DeliveryError: it was not taken; the message does not name the URL.
    """
    headers = {"Content-Type": "application/json; charset=utf-8", "User-Agent": f"kappa/{__version__}"}
    request = urllib.request.Request(url, document.encode(), headers, method="POST")
    try:
        tls = urllib.request.HTTPSHandler(context=_tls(insecure=insecure))
        with urllib.request.build_opener(_NoRedirects, tls).open(request, timeout=TIMEOUT_S):
            return
    except urllib.error.HTTPError as err:
        err.close()
        raise DeliveryError(f"HTTP status {err.code}", lasting=err.code < 500 and err.code not in _LATER) from None
    except urllib.error.URLError as err:
        raise DeliveryError(_why(err.reason)) from None
    except (OSError, http.client.HTTPException, ValueError) as err:
        raise DeliveryError(_why(err)) from None


def _why(err: object) -> str:
    """In words that come from the system, or else the kind of error: others may quote the URL."""
    if isinstance(err, ssl.SSLCertVerificationError):
        problem = err.verify_message.partition(",")[0]  # behind a comma is the host's name
        return f"the certificate of the server is not accepted ({problem}): SSL_CERT_FILE names other authorities"
    return (isinstance(err, OSError) and err.strerror) or type(err).__name__
