"""The tables of programs and nodes."""

from reports.show.provenance import listings
from tests.unit.reports.samples import case, complete, judged, latency

SPEC = {"name": "ior", "version": "4.0.0", "hash": "nnmgxn3b", "compiler": "gcc@12.2.0", "mpi": "openmpi@4.1.4"}


def tables(document, folder):
    return {table.title: table for table in listings(judged(document, folder).cases)}


def test_what_spack_built_is_listed_once_with_compiler_and_mpi(tmp_path):
    first, second = latency(), case("OsuLatency %placement=two_nodes")
    for entry in (first, second):
        entry["provenance"] = {**entry["provenance"], "spec": SPEC}
    table = tables(complete(first, {**second, "unique_name": "other", "hashcode": "00000000"}), tmp_path)[
        "Built by Spack"
    ]
    assert table.header == ("Name", "Version", "Compiler", "MPI", "Hash", "Cases")
    assert table.rows == [("ior", "4.0.0", "gcc@12.2.0", "openmpi@4.1.4", "nnmgxn3b", "2")]


def test_without_spack_there_is_no_such_table(tmp_path):
    assert "Built by Spack" not in tables(complete(), tmp_path)


def test_notes_are_listed_once_for_all_cases_that_say_the_same(tmp_path):
    note = "7 lines of Intel MPI in the output set aside, the first: <b>[0] MPI startup()"
    first, second = latency(), {**latency(), "unique_name": "other", "hashcode": "00000000"}
    noted = complete({**first, "notes": [note]}, {**second, "notes": [note]})
    (row,) = tables(noted, tmp_path)["Notes"].rows
    assert row == ("OsuLatency %placement=two_nodes on cpu+packaged and 1 more", note)
    assert "Notes" not in tables(complete(), tmp_path)


def test_a_short_form_says_that_it_is_no_valid_result(tmp_path):
    short = {**latency(), "validity": "not a valid result by HPCG's rules: 60 s of 1800 s"}
    (row,) = tables(complete(short), tmp_path)["By the benchmark's rules"].rows
    assert row[1] == short["validity"]
    assert "By the benchmark's rules" not in tables(complete(), tmp_path)


def test_the_run_time_is_the_jobs_where_slurm_tells_it(tmp_path):
    slow = {**latency(), "time_run": 4000.0}
    for told, shown in (({"job_s": 12}, "12 s"), ({}, "1 h 6 min")):
        table = tables(complete({**slow, **told}), tmp_path)["Jobs"]
        assert shown in {row[table.header.index("Run time")] for row in table.rows}
