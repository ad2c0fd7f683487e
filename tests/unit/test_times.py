from tests.times import CHECK_HEAD, TIMES_HEAD, Timed, read, render, rewrite

XML = """<testsuites><testsuite>
<testcase classname="a" name="b" time="7.6"><properties>
  <property name="nodeid" value="tests/unit/test_a.py::test_b[x|y]"/><property name="tier" value="test"/>
</properties></testcase>
<testcase classname="a" name="c" time="0.4"><properties>
  <property name="nodeid" value="tests/unit/test_a.py::test_c"/><property name="tier" value="test"/>
</properties></testcase>
<testcase classname="a" name="d" time="0"><properties>
  <property name="nodeid" value="tests/unit/test_a.py::test_d"/><property name="tier" value="test"/>
</properties><skipped/></testcase>
</testsuite></testsuites>"""


def test_every_test_that_ran_is_read_and_the_long_ones_are_listed(tmp_path):
    (tmp_path / "results.xml").write_text(XML)
    tests = read(tmp_path / "results.xml")
    assert tests == [
        Timed("tests/unit/test_a.py::test_b[x|y]", "test", 7.6), Timed("tests/unit/test_a.py::test_c", "test", 0.4),
    ]  # fmt: skip
    text = render([*tests, Timed("tests/emt/test_e.py::test_f", "long", 61)], "two cores")
    assert "| test | `tests/unit` | 2 | 8 |" in text
    assert "| long | `tests/emt` | 1 | 61 |" in text
    listed = text.partition("## Above 5 s")[2].strip().splitlines()[2:]
    assert listed == [r"| 61 | long | `emt/test_e.py::test_f` |", r"| 8 | test | `unit/test_a.py::test_b[x\|y]` |"]


def test_pytest_says_of_each_test_what_it_is_and_in_which_tier(request):
    assert dict(request.node.user_properties) == {"nodeid": request.node.nodeid, "tier": "test"}


def test_the_record_and_the_table_of_the_page_are_written_apart(tmp_path):
    page = tmp_path / "tests.md"
    page.write_text(f"{CHECK_HEAD}\nold record\n\n{render([Timed('tests/unit/a.py::b', 'test', 1)], 'old machine')}")
    rewrite(page, check="new record")
    assert "new record" in page.read_text() and "old record" not in page.read_text()
    assert "recorded on old machine" in page.read_text()
    before = page.read_text().partition(TIMES_HEAD)[0]
    rewrite(page, tests=[Timed("tests/unit/a.py::c", "test", 61)])
    assert page.read_text().partition(TIMES_HEAD)[0] == before and "`unit/a.py::c`" in page.read_text()


def test_what_has_no_name_for_itself_is_left_out(tmp_path):
    """A worker that crashed, or a file that was not collected."""
    crashed = '<testsuite><testcase classname="a" name="b"><error/></testcase>'
    (tmp_path / "results.xml").write_text(XML.replace("<testsuite>", crashed))
    assert len(read(tmp_path / "results.xml")) == 2
