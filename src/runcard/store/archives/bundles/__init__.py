"""Bundles: a run with its inputs in one `.tar.gz`, to run it again on another machine.

A bundle holds one folder, as it will be on the other machine: the run below `outputs/`, its inputs and programs under the
names that they had relative to the directory of the run, and a manifest that fixes all of them by digest. So `tar xzf`
can open one, without any check.
"""
