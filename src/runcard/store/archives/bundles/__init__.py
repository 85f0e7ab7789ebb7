"""Bundles: a run with its inputs in one `.tar.gz`, for somebody else to run it again.

A bundle holds one folder, as it will lie on the other machine: the run below `outputs/`, its inputs and programs under the
names that they had relative to the directory of the run, and a manifest that fixes all of them by digest. So `tar xzf`
will do to open one; what it leaves out is checking it.
"""
