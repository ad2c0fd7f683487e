"""Lines of other programs on standard output: recognised, set aside, and refused where they cut a table in two.

Every parser reads its recorded output as before with any of them above and below. Between two of its lines it refuses
the output or reads the same.
"""

import re

import pytest

from reframe_checks.parsers import foreign_lines, osu
from reframe_checks.parsers.text import MAX_LINE_CHARS, Output, ParseError
from tests.unit.parsers.cases import CASES, MAY_BE_EMPTY
from tests.unit.parsers.damage import leaves
from tests.unit.parsers.misread import misread
from tests.unit.parsers.mutation import Mutation
from tests.unit.parsers.talk import TALK, said_by

ALL = CASES | MAY_BE_EMPTY
#: They read what MPI says themselves.
READS_TALK = {"mpi report"}
#: Nodes are drained by what it reads, so that it refuses whatever is strange.
REFUSES_TALK = {"sinfo of all"}
#: Places between two lines that are tried in each recorded output.
MOST_PLACES = 60

INTEL_STARTUP, UCX_WARNING = said_by("Intel MPI"), said_by("UCX")
TITLE, HEADING = "# OSU MPI Bandwidth Test v5.7.1\n", "# Size      Bandwidth (MB/s)\n"
ROWS = ["4                     126.43\n", "8                     252.65\n"]


@pytest.mark.parametrize(("speaker", "lines"), TALK)
def test_a_line_is_recognised_with_who_wrote_it(speaker, lines):
    output = Output.read("output", f"1\n{lines}2\n")
    assert output.lines == ("1", "2")
    assert {line.speaker.name for line in output.foreign} == {speaker}
    assert "".join(f"{line.line}\n" for line in output.foreign) == lines
    assert f"line {2 + len(output.foreign)}: expected two; found '2'" in str(output.error(2, "two"))


def test_there_is_an_example_of_each_who_speaks():
    missing = {speaker.name for speaker in foreign_lines.SPEAKERS} - {name for name, _ in TALK}
    assert not missing


@pytest.mark.parametrize(
    "line",
    [
        "slurmstepd: error: *** STEP 4711.0 ON node1 CANCELLED AT 2024-01-01T00:00:00 ***",
        "srun: error: node1: task 3: Exited with exit code 1",
        "srun: error: node1: task 0: Segmentation fault",
        "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=4711.0",
        "[node1:12345] *** An error occurred in MPI_Send",
        "[node1:12345] *** Process received signal ***",
        "[node1:12345:0:12345] Caught signal 11 (Segmentation fault: address not mapped to object at address (nil))",
        "[1699999999.123456] [node1:12345:0]   ib_mlx5_log.c:143  UCX  FATAL endpoint closed",
        "[mpiexec@node1] ONE OF THE PROCESSES TERMINATED BADLY: CLEANING UP",
        "     8                     252.65",
        "[0] 252.65",
        "WARNING: unable to use realpath() on file system.",
        "-" * 80,
    ],
)
def test_what_ended_a_program_or_has_no_known_shape_stays(line):
    assert Output.read("output", f"1\n{line}\n2\n").lines == ("1", line, "2")


def test_a_banner_that_holds_figures_is_none():
    text = f"1\n{'-' * 74}\n4      126.43\n{'-' * 74}\n2\n"
    assert not Output.read("output", text).foreign


def test_an_output_of_other_programs_only_is_none():
    with pytest.raises(ParseError, match="line 1: expected output, found lines of other programs only"):
        Output.read("output", INTEL_STARTUP + "\n")


@pytest.mark.parametrize(("speaker", "lines"), TALK)
def test_a_table_is_read_with_lines_around_it_but_not_within(speaker, lines):
    expected = {4: (126.43,), 8: (252.65,)}
    for text in (
        [lines, TITLE, HEADING, *ROWS], [TITLE, lines, HEADING, *ROWS], [TITLE, HEADING, lines, *ROWS],
        [TITLE, HEADING, *ROWS, lines], [lines, TITLE, lines, HEADING, lines, *ROWS, lines],
    ):  # fmt: skip
        (table,) = osu.parse("".join(text), expect_sizes=[4, 8], expect_tables=1)
        assert table.rows == expected
    for between, number in ((lines, 4), (f"\n{lines}\n", 5)):
        where = f"line {number}: expected a table in one piece, which this line of {speaker} cuts in two"
        with pytest.raises(ParseError, match=re.escape(where)):
            osu.parse("".join([TITLE, HEADING, ROWS[0], between, ROWS[1]]))


def test_a_blank_line_before_a_message_of_lmod_is_no_end_of_a_table():
    lines = next(lines for speaker, lines in TALK if speaker == "Lmod")
    (table,) = osu.parse("".join([TITLE, HEADING, "\n", lines, *ROWS]), expect_sizes=[4, 8], expect_tables=1)
    assert table.rows == {4: (126.43,), 8: (252.65,)}


@pytest.mark.parametrize(
    "text",
    [
        TITLE + HEADING + ROWS[0] + INTEL_STARTUP.rstrip() + ROWS[1],
        TITLE + HEADING + ROWS[0].rstrip() + INTEL_STARTUP + ROWS[1],
        TITLE + HEADING + ROWS[0] + ROWS[1][:24] + UCX_WARNING + ROWS[1][24:],
        TITLE + HEADING + ROWS[0] + UCX_WARNING[:40] + ROWS[1] + UCX_WARNING[40:],
    ],
)
def test_a_line_that_runs_into_a_figure_is_refused(text):
    with pytest.raises(ParseError):
        osu.parse(text)


@pytest.mark.parametrize("name", sorted(ALL.keys() - READS_TALK - REFUSES_TALK))
def test_every_parser_reads_its_output_with_talk_above_and_below(recorded, name):
    case = ALL[name]
    whole = recorded(case.file)
    assert not Output.read("output", whole).foreign, "a line of the program itself is taken for another's"
    talk = "".join(lines for _, lines in TALK)
    assert dict(leaves(case.parse(talk + whole + talk))) == dict(leaves(case.parse(whole)))


@pytest.mark.parametrize("name", sorted(ALL.keys() - READS_TALK))
def test_talk_between_two_lines_is_refused_or_read_as_before(recorded, name):
    case = ALL[name]
    whole = recorded(case.file)
    ends = [at + 1 for at, char in enumerate(whole[:-1]) if char == "\n"]
    places = ends[:: -(-len(ends) // MOST_PLACES) or 1]
    mutations = [
        Mutation(f"{TALK[number % len(TALK)][1]!r} at {place}", place, place, TALK[number % len(TALK)][1])
        for number, place in enumerate(places)
    ]
    complaints, changed = misread(case, whole, mutations)
    assert not complaints and not changed


def test_the_longest_lines_are_read():
    """A pattern that tries too much would not come to an end."""
    for start in ("[0] MPI startup(): ", "[node1:1] ", "srun: ", "libfabric:1:", "node1:1:1 ", "/", ""):
        for filling in ("x", " ", "a ", "1.5  ", "/lib: ", "-"):
            assert Output.read("output", f"1\n{(start + filling * MAX_LINE_CHARS)[:MAX_LINE_CHARS]}\n").lines
