from tests.times import Timed, read, render

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
