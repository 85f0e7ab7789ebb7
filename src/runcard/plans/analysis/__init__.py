"""From the text of a Ruby method to its plan: parsing, no model, no clock. The same source gives the same bytes.

    analyze(path, asked, root=None) -> Analysis
        path            the Ruby file
        asked           `PathQuestion(class_name, method, method_type)`; the method must be named, the rest where it is not clear
        root            the project; by default the nearest directory above with `.git` or a `Gemfile`
    analyze_all(path, root=None) -> list[Analysis]       every method of the file that has a body, in the order of the text

    Analysis
        .plan           the whole plan as data, in the shape of 2.0, valid by the rules of plans
        .target         the method: `class_name`, `method`, `method_type`, `line`
        .warnings       what there is to know, each a sentence: no condition at all, more than six levels, unread parts

A file that cannot be read, and a method that is not there, raise RuncardError; the message lists the methods there are.
Writing is somebody else's: `operations.plans.analyzing` (`analyze_source(path, asked, root=…, write=True)`).

    methods         the text of a method: body, parameters, private methods beside it
    subjects        what a condition asks about, and its name
    questions       what is asked, and the answers that make it true
    conditions      expression → condition, with `patterns` (literals, ranges, `case/in`), `predicates` (bodies that answer
                    yes or no), `declared` (enums, state machines) and `vocabulary` (words)
    flow            the way through a method → questions with their `paths`; `rows` and `outcomes` are kinds of them
    states          questions → characteristics with types and states; `ranges` has those of comparisons
    tree            paths → who depends on whom, levels, terminal states
    characteristics all of it as a plan has it
    surroundings    what the project tells: models, level of the test
    analyzer        a source, a method of it, the plan
"""

from runcard.plans.analysis.analyzer import VERSION, Analysis, analyze, analyze_all

__all__ = ["VERSION", "Analysis", "analyze", "analyze_all"]
