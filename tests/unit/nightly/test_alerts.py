"""The alert on a night: its conditions, its text, and its delivery to a mail server and a web server."""

import contextlib
import datetime
import email
import email.policy
import http.server
import json
import socketserver
import ssl
import subprocess
import threading
from dataclasses import replace

import pytest

from kappa.app.command.main import main
from kappa.app.conduct import alerts
from kappa.app.conduct.alerts import AlertTargets, mail_address, mail_server, webhook_url
from kappa.app.conduct.night_schedule import night_command
from kappa.core.ground.errors import InputError
from kappa.core.record.acknowledgements import Acknowledgement, Acknowledgements
from reports.nightly.alert import Links, NightAlert, make_alert, reasons
from reports.nightly.archive import Archive
from reports.nightly.message import first_step, message
from reports.verdict.state import State
from tests.unit.nightly.samples import failed_night, failure, night, parse
from tests.unit.nightly.test_command import FAIL, results  # noqa: F401
from tests.unit.nightly.test_compare import stepped

DAY = datetime.date(2026, 11, 20)
SECRET = "s3cr3t-of-the-channel"


def known(*findings, until=DAY):
    newest = {
        (kind, name): Acknowledgement(kind=kind, finding=name, until=until, reason="cable", by="ada", time=1.0)
        for kind, name in findings
    }
    return Acknowledgements(newest, DAY)


def archive(*nights, acknowledged=None, damaged=()):
    return Archive(tuple(nights), (), damaged, acknowledged or known())


NODE, CASE = ("node", "node2"), ("case", failure().case)
SERIES = ("series", "NodeLinks slowest_node_bandwidth on scratch node[1-2]")
INCOMPLETE = night(1, state=State.INCOMPLETE, gaps=("the night left no report",))


@pytest.mark.parametrize(
    ("nights", "acknowledged", "judged", "because"),
    [
        ([night(0)], (), [], ()),
        ([night(0), night(1)], (), [], ()),
        ([night(0), failed_night(1)], (), [], ("verdict_worse", "findings")),
        ([failed_night(0)], (NODE,), [], ("verdict_worse",)),
        ([failed_night(0), failed_night(1)], (), [], ("findings",)),
        # For a node: also failures that name no other node. For a case: its node may be another one tomorrow.
        ([failed_night(0), failed_night(1)], (NODE,), [], ()),
        ([failed_night(0), failed_night(1)], (CASE,), [], ("findings",)),
        ([failed_night(0), failed_night(1)], (CASE, NODE), [], ()),
        ([night(0), failed_night(1)], (CASE, NODE), [], ("verdict_worse",)),
        ([failed_night(0), failed_night(1, node="node3")], (NODE,), [], ("findings",)),
        ([failed_night(0), night(1)], (CASE, NODE), [], ("verdict_better",)),
        ([INCOMPLETE, INCOMPLETE], (), [], ("incomplete",)),
        ([failed_night(0), failed_night(1, gaps=("the night was cut",))], (NODE,), [], ("incomplete",)),
        ([night(0), night(1)], (), [stepped(5)], ("findings",)),
        ([night(0), night(1)], (SERIES,), [stepped(5)], ()),
        ([night(0), night(1)], (), [stepped(5, worse=False)], ()),
        ([night(0), replace(INCOMPLETE, ended=None), night(2)], (), [], ("lost_night",)),
    ],
)  # fmt: skip
def test_a_night_is_worth_an_alert_by_its_verdict_and_what_is_not_acknowledged(nights, acknowledged, judged, because):
    assert reasons(archive(*nights, acknowledged=known(*acknowledged)), judged) == because


def test_an_acknowledgement_ends_with_its_day():
    nights = failed_night(0), failed_night(1)
    assert not reasons(archive(*nights, acknowledged=known(NODE)), [])
    yesterday = DAY - datetime.timedelta(days=1)
    assert reasons(archive(*nights, acknowledged=known(NODE, until=yesterday)), [])


def test_the_first_step_is_about_what_is_not_acknowledged():
    fault = failed_night(1)
    assert first_step(fault, []).startswith("Look at node2")
    assert first_step(fault, [], known(NODE)) == "Every finding is acknowledged."
    assert first_step(fault, [], known(CASE)).startswith("Look at node2")
    assert "NodeLinks" in first_step(fault, [stepped(5)], known(NODE))


def test_the_document_is_one_json_with_what_the_message_says():
    links = Links.of("https://ops.example.org/kappa/embedded/")
    one = archive(night(0), failed_night(1, folder="20261116T020000"), acknowledged=known(NODE))
    text = message("embedded", one, [stepped(5)], [links.report(one.nights[-1])])
    made = make_alert("embedded", one, [stepped(5)], text, links)
    document = json.loads(made.document)
    assert (document["kappa"], document["version"], document["site"]) == ("night", 1, "embedded")
    assert (document["verdict"], document["verdict_before"], document["because"]) == (
        "FAIL", "PASS", ["verdict_worse", "findings"],
    )  # fmt: skip
    assert document["report"] == "https://ops.example.org/kappa/embedded/nights/20261116T020000/report.html"
    assert document["dashboard"] == "https://ops.example.org/kappa/embedded/nightly/index.html"
    assert document["text"] == text and f"<{document['report']}>" in text
    told = {one["kind"]: one for one in document["findings"]}
    assert told["node"]["finding"] == "node2" and told["node"]["new"]
    assert told["node"]["acknowledged"] == {"until": "2026-11-20", "by": "ada", "reason": "cable"}
    assert told["case"]["nodes"] == ["node2"] and told["case"]["acknowledged"]["by"] == "ada"
    assert (told["series"]["finding"], told["series"]["acknowledged"]) == (SERIES[1], None)
    assert made.subject.startswith("Kappa embedded: FAIL, night of 2026-11-16")


@pytest.mark.parametrize("link", ["ftp://a/b", "https://a/b c", "https://a/>x", "javascript:alert(1)", "https://", "a"])
def test_a_link_is_a_plain_address(link):
    with pytest.raises(InputError, match="expected the URL"):
        Links.of(link)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate of 127.0.0.1 that no authority has signed, and its key, in one file."""
    folder = tmp_path_factory.mktemp("certificate")
    subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", folder / "key"]
    subprocess.run(["openssl", "req", "-x509", *key, "-out", folder / "own", *subject], check=True, capture_output=True)
    both = folder / "both"
    both.write_text((folder / "own").read_text() + (folder / "key").read_text())
    return both


def encrypted(connection, certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context.wrap_socket(connection, server_side=True)


@contextlib.contextmanager
def serving(handler, certificate=None):
    class Server(socketserver.ThreadingTCPServer):
        def finish_request(self, request, client_address):
            with contextlib.suppress(ssl.SSLError, ConnectionError):  # a client that accepts no such certificate
                super().finish_request(encrypted(request, certificate) if certificate else request, client_address)

    with Server(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


@contextlib.contextmanager
def web_server(*statuses, certificate=None):
    """Answers with these, then with 200; yields its port and what it was told: (path, content type, document)."""
    told, left = [], list(statuses)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):  # its name in Python's library
            body = self.rfile.read(int(self.headers["Content-Length"]))
            told.append((self.path, self.headers["Content-Type"], json.loads(body)))
            self.send_response(left.pop(0) if left else 200)
            self.send_header("Location", "/elsewhere")
            self.end_headers()

        def log_message(self, *_):
            pass

    with serving(Handler, certificate) as port:
        yield port, told


@contextlib.contextmanager
def mail_server_of_tests(left=(), refuses=(), certificate=None):
    """With ``certificate``, it offers STARTTLS. Answers to letters out of ``left``, then takes them.

    Yields its port and what it took: (addresses, letter).
    """
    took = []

    class Handler(socketserver.StreamRequestHandler):
        def say(self, line):
            self.wfile.write(f"{line}\r\n".encode())

        def setup_files(self):
            self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", 0)

        def handle(self):
            self.say("220 test")
            to = []
            while line := self.rfile.readline():
                word = line.strip().upper()
                if word.startswith(b"RCPT"):
                    address = line.decode().partition("<")[2].partition(">")[0]
                    to += [] if address in refuses else [address]
                    self.say("550 unknown" if address in refuses else "250 ok")
                elif word == b"DATA":
                    self.say("354 go on")
                    lines = []
                    while (part := self.rfile.readline()) != b".\r\n":
                        lines.append(part.removeprefix(b".") if part.startswith(b"..") else part)
                    if left:
                        self.say(left.pop(0))
                    else:
                        took.append((to, email.message_from_bytes(b"".join(lines), policy=email.policy.default)))
                        self.say("250 taken")
                elif word == b"QUIT":
                    self.say("221 bye")
                    return
                elif word.startswith(b"EHLO") and certificate and not isinstance(self.connection, ssl.SSLSocket):
                    self.say("250-test")
                    self.say("250 STARTTLS")
                elif word == b"STARTTLS":
                    self.say("220 go on")
                    with contextlib.suppress(ssl.SSLError, ConnectionError):
                        self.connection = encrypted(self.connection, certificate)
                    self.setup_files()
                else:
                    self.say("250 ok")

    with serving(Handler) as port:
        yield port, took


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(alerts, "PAUSES_S", (0.0, 0.0, 0.0))


def alert(**changes):
    values = {
        "subject": "Kappa here: FAIL", "text": "# héad\n.\n→ " + "x" * 2000 + "\n", "document": '{"kappa": "night"}',
        "because": ("findings",), "folder": "20261116T020000",
    }  # fmt: skip
    return NightAlert(**{**values, **changes})


def delivered(targets, found=None):
    lines = []
    targets.deliver(found or alert(), lines.append)
    return lines


def kept_url(tmp_path, url, mode=0o600):
    file = tmp_path / "webhook"
    file.write_text(f"{url}\n# of the channel\n")
    file.chmod(mode)
    return file


def test_a_mail_server_gets_the_message_as_plain_text():
    with mail_server_of_tests() as (port, took):
        lines = delivered(AlertTargets(("ops@example.org", "root"), f"127.0.0.1:{port}"))
    [(to, letter)] = took
    assert to == ["ops@example.org", "root"]
    assert letter.get_content_type() == "text/plain"
    assert letter["Subject"] == "Kappa here: FAIL"
    assert letter.get_content().replace("\r\n", "\n") == alert().text
    assert lines == ["alert: mail to ops@example.org, root: sent"]


def test_no_text_of_a_night_makes_a_header():
    hostile = failed_night(0, headline="bad\r\nBcc: all@example.org\r\n\r\nbody", folder="x")
    made = make_alert("embedded", archive(hostile), [], "text\n", Links())
    assert "\n" not in made.subject and "\r" not in made.subject
    with mail_server_of_tests() as (port, took):
        delivered(AlertTargets(("ops@example.org",), f"127.0.0.1:{port}"), made)
        lines = delivered(AlertTargets(("ops@example.org",), f"127.0.0.1:{port}"), alert(subject="a\nBcc: b@c.de"))
    [(to, letter)] = took
    assert (to, letter["Bcc"]) == (["ops@example.org"], None)
    assert len(lines) == 1 and "not delivered" in lines[0]


@pytest.mark.parametrize(
    ("answer", "times", "asked", "taken"), [("451 later", 1, 1, 1), ("451 later", 9, 4, 0), ("554 no", 9, 1, 0)]
)
def test_a_mail_is_repeated_three_times_at_most_and_not_after_a_lasting_refusal(answer, times, asked, taken, capsys):
    left = [answer] * times
    with mail_server_of_tests(left) as (port, took):
        [line] = delivered(AlertTargets(("ops@example.org",), f"127.0.0.1:{port}"))
    assert (times - len(left), len(took)) == (asked, taken)
    assert ("not delivered" in line, line in capsys.readouterr().err) == (not taken, not taken)


def test_one_refused_address_is_named_and_the_other_gets_one_letter():
    with mail_server_of_tests(refuses=("gone@example.org",)) as (port, took):
        [line] = delivered(AlertTargets(("ops@example.org", "gone@example.org"), f"127.0.0.1:{port}"))
    assert [to for to, _ in took] == [["ops@example.org"]]
    assert line.endswith("refuses gone@example.org")


def test_the_local_sendmail_takes_the_addresses_from_the_letter(tmp_path, monkeypatch):
    program = tmp_path / "bin/sendmail"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/options\ncat > {tmp_path}/letter\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    assert delivered(AlertTargets(("ops@example.org",))) == ["alert: mail to ops@example.org: sent"]
    assert (tmp_path / "options").read_text().split() == ["-t", "-i"]
    letter = email.message_from_bytes((tmp_path / "letter").read_bytes(), policy=email.policy.default)
    assert (letter["To"], letter["Auto-Submitted"]) == ("ops@example.org", "auto-generated")
    assert letter.get_content() == alert().text
    program.write_text("#!/bin/sh\necho full >&2\nexit 75\n")
    [line] = delivered(AlertTargets(("ops@example.org",)))
    assert line.endswith("ends with status 75: full")


@pytest.mark.parametrize("address", ["", "-oQ/tmp", "a b@c.de", "a@b\nBcc: c", "a@", "a@-b", "a@b,c@d", "<a@b>", "ä@b"])
def test_an_address_is_one_word_and_no_option(address):
    with pytest.raises(InputError, match="expected a mail address"):
        mail_address(address)


@pytest.mark.parametrize("server", ["", "-h", "host:", "host:99999", "a b", "user@host"])
def test_a_mail_server_is_a_host_and_a_port(server):
    with pytest.raises(InputError, match="expected a mail server"):
        mail_server(server)


def test_a_web_server_gets_one_json(tmp_path):
    with web_server() as (port, told):
        file = kept_url(tmp_path, f"http://127.0.0.1:{port}/hook/{SECRET}")
        lines = delivered(AlertTargets(webhook_file=file, insecure=True))
    assert told == [(f"/hook/{SECRET}", "application/json; charset=utf-8", {"kappa": "night"})]
    assert lines == [f"alert: webhook of {file}: sent"]


@pytest.mark.parametrize(
    ("statuses", "tries", "end"),
    [
        ([503, 429], 3, ": sent"), ([500] * 9, 4, "HTTP status 500"), ([404] * 9, 1, "HTTP status 404"),
        ([302] * 9, 1, "HTTP status 302"),
    ],
)  # fmt: skip
def test_a_webhook_is_repeated_three_times_at_most_and_follows_no_redirect(tmp_path, capsys, statuses, tries, end):
    with web_server(*statuses) as (port, told):
        file = kept_url(tmp_path, f"http://127.0.0.1:{port}/{SECRET}")
        [line] = delivered(AlertTargets(webhook_file=file, insecure=True))
    assert len(told) == tries
    assert line.endswith(end)
    assert SECRET not in line + "".join(capsys.readouterr())


def test_no_failure_of_a_webhook_tells_its_url(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(alerts, "TIMEOUT_S", 0.2)

    class Silent(socketserver.BaseRequestHandler):
        def handle(self):
            self.request.recv(1)
            ended.wait(10)

    ended = threading.Event()
    with serving(Silent) as port:
        silent = f"http://127.0.0.1:{port}/{SECRET}"
        for url in (
            silent,
            f"http://127.0.0.1:1/{SECRET}",
            f"http://{SECRET}.invalid/",
            f"https://127.0.0.1:1/{SECRET}",
        ):
            [line] = delivered(AlertTargets(webhook_file=kept_url(tmp_path, url), insecure=True))
            assert "not delivered" in line
            assert SECRET not in line
        ended.set()
    assert SECRET not in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    ("url", "mode"),
    [
        (f"ftp://h/{SECRET}", 0o600), (f"file:///{SECRET}", 0o600), (f"https://u:{SECRET}@h/", 0o600), (SECRET, 0o600),
        (f"http://h:port/{SECRET}", 0o600), ("", 0o600), (f"http://h/{SECRET} x", 0o600), (f"http://h/{SECRET}", 0o604),
    ],
)  # fmt: skip
def test_a_file_without_a_usable_secret_is_named_and_what_is_in_it_is_not(tmp_path, url, mode):
    file = kept_url(tmp_path, url, mode)
    with pytest.raises(InputError, match="webhook") as refused:
        webhook_url(file, insecure=True)
    assert SECRET not in str(refused.value)
    assert "not delivered" in delivered(AlertTargets(webhook_file=file))[0]
    with pytest.raises(InputError):
        AlertTargets(webhook_file=file).require_usable()


def test_webhook_by_http_gets_nothing_unless_insecure(tmp_path):
    with web_server() as (port, told):
        file = kept_url(tmp_path, f"http://127.0.0.1:{port}/{SECRET}")
        with pytest.raises(InputError, match="--insecure"):
            AlertTargets(webhook_file=file).require_usable()
        [line] = delivered(AlertTargets(webhook_file=file))
        assert "not delivered" in line and SECRET not in line
        assert not told
        AlertTargets(webhook_file=file, insecure=True).require_usable()
        delivered(AlertTargets(webhook_file=file, insecure=True))
    assert len(told) == 1


def test_webhook_needs_a_certificate_of_a_known_authority(tmp_path, monkeypatch, certificate):
    with web_server(certificate=certificate) as (port, told):
        targets = AlertTargets(webhook_file=kept_url(tmp_path, f"https://127.0.0.1:{port}/{SECRET}"))
        [line] = delivered(targets)
        assert "certificate" in line and SECRET not in line
        assert not told
        delivered(replace(targets, insecure=True))
        assert len(told) == 1
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        delivered(targets)
    assert len(told) == 2


def test_https_webhook_is_not_redirected_to_http(tmp_path, monkeypatch, certificate):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with web_server() as (plain, overheard), serving(_redirecting(plain), certificate) as port:
        [line] = delivered(AlertTargets(webhook_file=kept_url(tmp_path, f"https://127.0.0.1:{port}/{SECRET}")))
    assert line.endswith("HTTP status 307")
    assert not overheard


def _redirecting(port):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(307)
            self.send_header("Location", f"http://127.0.0.1:{port}/")
            self.end_headers()

        def log_message(self, *_):
            pass

    return Handler


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "127.0.0.1", "127.1.2.3"])
def test_loopback_address_is_on_this_machine(host):
    assert alerts._on_this_machine(host)


@pytest.mark.parametrize("host", ["relay", "localhost.example.org", "10.0.0.1", "127.0.0.1.example.org"])
def test_other_address_is_on_another_machine(host):
    assert not alerts._on_this_machine(host)


@pytest.fixture
def elsewhere(monkeypatch):
    """The servers of the tests stand for servers on another machine."""
    monkeypatch.setattr(alerts, "_on_this_machine", lambda host: False)


def test_mail_server_without_starttls_gets_nothing_unless_insecure(elsewhere):
    with mail_server_of_tests() as (port, took):
        targets = AlertTargets(("ops@example.org",), f"127.0.0.1:{port}")
        [line] = delivered(targets)
        assert "not delivered" in line and "--insecure" in line
        assert not took
        delivered(replace(targets, insecure=True))
    assert len(took) == 1


def test_mail_server_needs_a_certificate_of_a_known_authority(elsewhere, monkeypatch, certificate):
    with mail_server_of_tests(certificate=certificate) as (port, took):
        targets = AlertTargets(("ops@example.org",), f"127.0.0.1:{port}")
        [line] = delivered(targets)
        assert "certificate" in line
        assert not took
        delivered(replace(targets, insecure=True))
        assert len(took) == 1
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        delivered(targets)
    assert len(took) == 2


def test_nothing_is_sent_without_need_unless_it_is_asked_for(tmp_path):
    quiet = alert(because=())
    with web_server() as (port, told):
        targets = AlertTargets(webhook_file=kept_url(tmp_path, f"http://127.0.0.1:{port}/"), insecure=True)
        assert "nothing to say" in delivered(targets, quiet)[0]
        assert not told
        delivered(replace(targets, always=True), quiet)
        assert len(told) == 1
    assert delivered(AlertTargets(), alert()) == []


def test_a_schedule_keeps_the_options_and_no_secret(tmp_path):
    file = kept_url(tmp_path, f"http://h/{SECRET}")
    given = ["--mail=a@b.de", "--mail=root", "--smtp=relay:2525", f"--webhook-file={file}", "--alert=always"]
    chosen = parse(["schedule", "mycluster", "sbatch", *given, "--insecure", "--link=https://ops/x"])
    command = night_command(chosen, tmp_path / "kappa")
    assert not any(SECRET in word for word in command)
    again = parse(command[2:])
    for name in ("mail", "smtp", "webhook_file", "alert", "insecure", "link"):
        assert getattr(again, name) == getattr(chosen, name)
    plain = night_command(parse(["schedule", "mycluster", "sbatch"]), tmp_path / "kappa")
    options = ("--mail", "--webhook", "--alert", "--smtp", "--insecure", "--link")
    assert not any(word.startswith(options) for word in plain)


def test_a_report_is_delivered_and_a_failure_changes_no_status(results, tmp_path, capsys):  # noqa: F811
    log = results / "nights/20261116T020000/night.log"
    with web_server() as (port, told), mail_server_of_tests() as (mail, took):
        file = kept_url(tmp_path, f"http://127.0.0.1:{port}/{SECRET}")
        options = [f"--webhook-file={file}", "--mail=ops@example.org", f"--smtp=127.0.0.1:{mail}", "--link=http://h/k"]
        call = ["night", "report", "embedded", f"--results={results}", "--insecure", *options]
        assert main(call) == FAIL
        [(_, _, document)] = told
        assert document == json.loads((results / "nightly/alert.json").read_text())
        [(_, letter)] = took
        text = (results / "nightly/message.md").read_text()
        assert letter.get_content().replace("\r\n", "\n") == text
        assert "<http://h/k/nights/20261116T020000/report.html>" in text
        assert log.read_text().splitlines() == [
            "alert: mail to ops@example.org: sent", f"alert: webhook of {file}: sent",
        ]  # fmt: skip
    capsys.readouterr()
    assert main(call) == FAIL
    failed = log.read_text().splitlines()[2:]
    assert len(failed) == 2 and all("not delivered" in line for line in failed)
    said = capsys.readouterr()
    assert all(line in said.err for line in failed)
    assert SECRET not in said.out + said.err + log.read_text()
