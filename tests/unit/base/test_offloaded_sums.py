"""The log of libsharp shows if the network took part in sums."""

import pytest

from reframe_checks.network.offloaded_sums import tree_granted

REQUEST = "INFO job (ID: 28383873) resource request quota: ( osts:0 user_data_per_ost:0 max_groups:0 max_qps:1)\n"


@pytest.mark.parametrize(
    "line",
    [
        "[n1:0:291 - context.c:759] INFO tree_info: type:LLT tree idx:0 treeID:0x0 caps:0x6 quota: ( osts:167 )\n",
        "[n1:0:40 - context.c:867][2025-05-26 15:58:56] INFO sharp_job_id:41   resv_key: tree_type:LLT tree_idx:0\n",
    ],
)
def test_a_granted_tree_is_known_in_the_words_of_two_versions(line):
    assert tree_granted(f"[n1:0:291 - context.c:589] {REQUEST}{line}")


def test_a_request_alone_is_no_tree():
    assert not tree_granted(f"[n1:0:291 - context.c:589] {REQUEST}[n1][warn] - Begin job failed: No reservation\n")
    assert not tree_granted("")
