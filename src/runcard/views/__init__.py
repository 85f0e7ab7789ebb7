"""Records as text for people: Markdown files that are written into records, and screens for the terminal.

run_readme          README.md of a run
session_summary     summary.md of a session
experiment_readme   README.md of an experiment's folder
run_screen, session_screen, experiment_screen   what the `show` commands print
run_comparison      what `runcard rerun` prints
plan_review         the review of a spec
formats, markdown, screen_parts, team_tree      what these are made of
"""
