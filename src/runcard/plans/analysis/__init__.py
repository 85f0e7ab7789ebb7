"""The analyzer: from the source of a Ruby method to its plan, by parsing. The same source gives the same plan,
except for the time of the analysis.

    analyze(path, method_ref, root=None, files=None, options=None) -> Analysis
        path            the Ruby file
        method_ref      `MethodRef(class_name, method, method_type)`; only the method is required, if it is unambiguous
        root            the project; by default the nearest directory above with `.git` or a `Gemfile`
        files           `ProjectFiles()`, shared by many sources: the models and factories of their project are read once
        options         `AnalysisOptions(is_deep=…, all_factories=…)`
    analyze_all(path, root=None, files=None, options=None) -> list[Analysis]
                        every method of the file that has a body, in the order of the text

    branches_of(path, method_ref, root=None, is_deep=False) -> MethodBranches
                        the branches of a method as coverage counts them, and the states that each proves

    method_digests(path, root=None, is_deep=False) -> dict[MethodRef, str]
                        the digest of each method, which tells whether its plan is still fresh

    Analysis
        .plan           the whole plan as data, valid, in the shape of version 2.0; `documents.testplan.versions` has the others
        .target         the method: `class_name`, `method`, `method_type`, `line`
        .warnings       sentences: no branches, more than six levels, parts that could not be read

A file that cannot be read and a method that does not exist raise RuncardError; the message lists the methods of the file.
`operations.plans.analyze` writes plans.

    analyzer         a source, a method of it, the plan
    method_source    the source of a method: body, parameters, private methods, predicates
    control_flow     `if`, `unless`, `case`, loops: all questions of a method, with their paths; `rescues` for `rescue`
    branch_notes     the branches that coverage counts; `branch_states`: what each proves when it runs
    conditions       expression → condition, joined of `expression_questions`
    comparisons      literals, ranges, `case/in`; `vocabulary` has opposites and actions
    assignments      what variables were assigned, and when they are present; `memoization` for `@x ||= y`
    subjects         what a condition is about, and its name
    phrases          a predicate as an English clause, with `english_words`; `wording` for all states
    questions        questions, their answers, and paths
    declared_values  enums and state machines of a class
    project_context  models and factories of the project, level of the test
    states           questions → characteristics with types and states; `ranges` for comparisons
    dependency_tree  paths → parents, levels, terminal states
    characteristics  all of it as a plan lists it
"""

from runcard.plans.analysis.analyzer import (
    VERSION,
    Analysis,
    AnalysisOptions,
    analyze,
    analyze_all,
    branches_of,
    method_digests,
)
from runcard.plans.analysis.project_context import ProjectFiles

__all__ = [
    "VERSION",
    "Analysis",
    "AnalysisOptions",
    "ProjectFiles",
    "analyze",
    "analyze_all",
    "branches_of",
    "method_digests",
]
