"""Reading Ruby for test plans: what there is to test, and which factories there are. Nothing here runs Ruby.

    find_target(path, class_name, method, method_type)   whether a file has that method: a `TargetLookup`
        .outcome         FOUND, OTHER_TYPE (the method is there, of the other type), NO_METHOD or NO_CLASS
        .class_name      the class in full, as the file has it (None: no such class)
        .is_short        whether it was asked for by less than that (`Bar` for `Foo::Bar`)
        .line            of the method, when it was found
        .suggestions     what may have been meant: classes, or methods as `Foo#bar` and `Foo.bar`; the nearest first
        .warnings        what in the file could not be read, each with `line` and `message`
    read_targets(path)                                   all classes and methods of a file: `Targets`
    read_factories(start, root)                          all factories from a directory downwards: `Factories`

`method_type` is `instance` or `class`. A file that cannot be read at all raises RuncardError, and so does a missing
`tree-sitter` (the extra `ruby`). A syntax error never does: the rest of the file is read, and a warning names the part.

    source          bytes of a file → text: limits, encodings
    syntax          text → syntax tree, and how to ask it; the only module that knows tree-sitter
    mending         what to do about text that the grammar does not understand
    literals        names and lists that are written out, loops over them included
    definitions     syntax tree → classes and their methods, with `classes` (the books) and `macros` (`attr_reader` …)
    targets         the questions about them
    signatures      what must be handed to a method
    specs           syntax tree → the groups, examples, lets and hooks of a spec
    usage           what specs use of factories
    writing         texts as literals of Ruby
    factory_files   where a project keeps its factories
    factory_reader  syntax tree → the factories of one file
    factories       all of a project
    factory_details what their parents and the enums of models (`enums`) add
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
