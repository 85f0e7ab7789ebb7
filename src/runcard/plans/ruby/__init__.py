"""Reading Ruby for test plans: methods, factories and specs. Nothing here runs Ruby.

    find_target(path, class_name, method, method_type)   look a method up in a file: a `TargetLookup`
        .outcome         FOUND, OTHER_TYPE (the method exists with the other type), NO_METHOD or NO_CLASS
        .class_name      the full name of the class (None: no such class)
        .is_short        whether the given name was shorter (`Bar` for `Foo::Bar`)
        .line            of the method, if it exists
        .suggestions     similar names: classes, or methods as `Foo#bar` and `Foo.bar`; the nearest first
        .warnings        parts of the file that could not be read, each with `line` and `message`
    read_targets(path)                                   all classes and methods of a file: `Targets`
    read_factories(start, root)                          all factories below a directory: `Factories`

`method_type` is `instance` or `class`. A file that cannot be read raises RuncardError, and so does a missing
`tree-sitter` (the extra `ruby`). A syntax error does not: the rest of the file is read, and a warning names the part.

    source_text     bytes of a file → text: limits, encodings
    syntax_tree     text → syntax tree; the only module that knows tree-sitter
    error_recovery  reads around syntax errors
    literals        literal names and lists, and loops over them
    definitions     syntax tree → classes and their methods; `macros` has `attr_reader` and the like
    targets         the methods of a file, lookups, required parameters
    method_facts    what a source tells about calling a method: parameters, visibility, public callers
    routes          the routes of a Rails project
    quoting         names and texts in Ruby code that is written
    rails           names as Rails writes them, enums of models
    spec_tree       syntax tree → groups, examples, lets and hooks of a spec, with lines and tags
    factory_usage   the factories that specs use
    factory_files   where a project keeps its factories
    factory_reader  the FactoryBot DSL: the factories of one file
    factories       all factories of a project, with parents and enums
"""

from runcard.plans.ruby.factories import Factories, read_factories
from runcard.plans.ruby.targets import LookupOutcome, Target, TargetLookup, Targets, find_target, read_targets

__all__ = [
    "Factories",
    "LookupOutcome",
    "Target",
    "TargetLookup",
    "Targets",
    "find_target",
    "read_factories",
    "read_targets",
]
