"""Comparing this library with others on one file: behind ``virtual-cog bench`` and ``benchmarks/``.

A `Reader` is one way of reading, ours or another library's; `suite` asks each whether it can, checks
that all of them return the same, and times those that do, in turn; `report` says what came out.
"""
