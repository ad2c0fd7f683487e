"""Tests of the programs that measure every node or pair of nodes."""
