"""Options that `kappa plan` passes on to ReFrame."""

import pytest

from kappa.app.command.plan import run


@pytest.mark.parametrize("own", [[], ["links"], ["links", "--cases"], ["--cases", "links"]])
def test_all_after_two_dashes_is_for_reframe(own, monkeypatch):
    seen = []

    def stop(site, results, mode, options):
        seen.append((mode, options))
        raise KeyboardInterrupt

    monkeypatch.setattr("kappa.app.conduct.preflight.require_sense", stop)
    with pytest.raises(KeyboardInterrupt):
        run(["embedded", *own, "--", "-x", "OsuLatency", "--nocolor"])
    assert seen == [("links" if own else "nightly", ["-x", "OsuLatency", "--nocolor"])]


def test_an_option_without_two_dashes_is_refused(capsys):
    with pytest.raises(SystemExit):
        run(["embedded", "links", "OsuLatency"])
    assert "after --, found OsuLatency" in capsys.readouterr().err
