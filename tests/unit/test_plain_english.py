import pathlib
import subprocess
import sys

import pytest

from tests.plain_english import BRANCHES, PAGE, changed_lines, check, python_strings

REPOSITORY = pathlib.Path(__file__).parents[2]
BEFORE = "Nobody knows.\n"
AFTER = f"{BEFORE}\nOther nodes are those that the case\nhad none of.\nSo do `those that of`.\n"


def git(root, *arguments):
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgSign=false")
    subprocess.run(["git", "-C", root, *identity, *arguments], check=True, capture_output=True)


@pytest.fixture
def tree(tmp_path):
    """Give a work tree whose branch ``main`` has one page."""
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "page.md").write_text(BEFORE)
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "First")
    return tmp_path


def test_added_lines_have_their_numbers_and_may_look_like_headers():
    first = "--- a.md\n+++ a.md\n@@ -2 +2,2 @@ x\n-old\n+new\n++++ b\n@@ -9,0 +11 @@\n+last\n"
    diff = f"{first}--- b.md\n+++ b.md\n@@ -1 +0,0 @@\n-x\n"
    assert changed_lines(diff) == {"a.md": {2: "new", 3: "+++ b", 11: "last"}}


def test_strings_and_docstrings_are_read_and_code_is_not():
    source = 'def nobody():\n    """One\n    that of"""\n    return f"a {nobody} b"  # what is\n'
    strings = python_strings(source)
    assert [*strings] == [2, 3, 4] and "that of" in strings[3] and "what is" not in strings[4]
    assert python_strings("def") == {}


def test_lines_changed_since_main_are_warned_of_committed_or_not(tree):
    git(tree, "checkout", "-q", "-b", "topic")
    (tree / "page.md").write_text(AFTER)
    git(tree, "commit", "-q", "-a", "-m", "Second")
    (tree / "new.py").write_text('nobody = 1  # nobody\nSAID = "what is x"\n')
    (tree / "new.cpp").write_text('// nobody\nfail("held against");\n')
    git(tree, "add", ".")
    assert [line.partition(" ")[0] for line in check(tree)] == ["new.cpp:2:", "new.py:2:", "page.md:3:"]
    assert all(PAGE in line for line in check(tree))


def test_without_main_the_lines_since_the_last_commit_count(tree):
    git(tree, "branch", "-m", "other")
    assert check(tree) == []
    (tree / "page.md").write_text(AFTER)
    assert len(check(tree)) == 1


def test_a_folder_without_git_has_no_warnings(tmp_path):
    assert check(tmp_path) == []


def test_the_command_warns_and_does_not_fail(tree):
    (tree / "page.md").write_text(AFTER)
    command = [sys.executable, "-m", "tests.plain_english"]
    done = subprocess.run(command, cwd=tree, env={"PYTHONPATH": str(REPOSITORY), "PATH": "/usr/bin:/bin"},
                          capture_output=True, text=True, check=True)  # fmt: skip
    assert done.stderr.startswith("page.md:3: warning: avoid 'are those that'") and done.stdout == ""


def test_the_page_has_the_section_that_warnings_name():
    name, _, heading = PAGE.partition("#")
    assert f"## {heading.capitalize()}\n" in (REPOSITORY / name).read_text(encoding="utf-8")
    assert BRANCHES[-1] == "main"
