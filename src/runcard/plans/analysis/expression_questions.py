"""Questions about expressions: what a comparison, a predicate or a plain value asks, with its name and its wording."""

import re
from dataclasses import replace

from runcard.plans.analysis.assignments import Assignments
from runcard.plans.analysis.comparisons import Comparisons
from runcard.plans.analysis.declared_values import ConditionContext
from runcard.plans.analysis.phrases import (
    PREPOSITIONS,
    Phrases,
    about_named,
    actor_phrase,
    article,
    being,
    flag_phrases,
    gerund,
    phrases_about,
    predicate_phrases,
    quantity_phrases,
    result_phrases,
    setting_phrases,
    with_actor,
)
from runcard.plans.analysis.questions import (
    ABSENT,
    EMPTY,
    PRESENT,
    Answer,
    Choice,
    DeclaredValues,
    Pair,
    Question,
    Wording,
)
from runcard.plans.analysis.subjects import (
    LONGEST_CODE,
    Subject,
    argument_nouns,
    argument_words,
    is_element,
    is_plain,
    name_of,
    nil_is_empty,
    one_line,
    slug,
    subject_of,
    unwrapped,
    without_repetition,
)
from runcard.plans.analysis.vocabulary import (
    ACTIONS,
    FAILED,
    OWN_ACTIONS,
    PRESENCES,
    SUCCEEDED,
    TRUTHY,
    pair_of,
)
from runcard.plans.ruby.literals import Literals
from runcard.plans.ruby.syntax_tree import Code, Node, children, descendants, field_of, line_of

_PLAIN_TEXT = re.compile(r"(?=.*\w)[\w\s.,:;'/-]+")  # a literal that reads like words
_FLIPPED = {">=": "<=", ">": "<", "<": ">", "<=": ">="}
_REMOVALS = {"delete", "delete!"}  # from a hash or list, when the argument is a literal
_LONGEST_PATTERN = 40
_VARIABLES = {"identifier", "instance_variable"}
_QUANTITIES = {"any", "all", "none", "one"}
_OF_CONVERTED = {"empty?": "blank?", "none?": "blank?", "any?": "present?"}  # `name.to_s.empty?`
_SEARCHES = {"find", "detect"}  # with a block
_SETTINGS = {"setting", "settings", "config", "configuration", "features", "flags"}
_COUNTS = {"size", "length", "count"}
_NAMING = {"call", "element_reference", "identifier"}  # values that name a variable
_FILE_PREDICATES = {"directory", "file", "symlink", "executable"}
_FILES = {"File", "Dir", "FileTest", "Pathname", "IO"}  # whose predicates are about their argument
_SHORT = 2  # letters of a variable whose name tells nothing: the value that it was assigned names it
_TAKES_ARGUMENT = {
    "include",
    "member",
    "cover",
    "key",
    "has_key",
    "value",
    "has_value",
    "exclude",
    "start_with",
    "end_with",
}

_BEING = (
    "is ",
    "are ",
    "was ",
    "were ",
    "has the key ",
    "have the key ",
)  # states are named after the predicate
_OF_ITSELF = {"self": "self", "self.class": "its own class"}


class ExpressionQuestions:
    """Makes the questions of one text; does not know how they are joined."""

    def __init__(self, code: Code, literals: Literals, context: ConditionContext) -> None:
        self._code, self._text_of = code, code.text_of
        self._literals, self._context = literals, context
        self.comparisons = Comparisons(code, literals)
        self.assignments = Assignments()
        self.via: str | None = None  # the private method that is being read
        self.privates: dict[str, Node] = {}  # the bodies of the private methods of the class
        self._pairs: dict[frozenset[str], tuple[str, str]] = {}  # pairs of values, in their first order
        self._predicates: dict[str, Question] = {}  # `user.admin?`, by `user.admin`

    def _bounds(self, node: Node, left: Node, operator: str, right: Node) -> Question:
        subject, other = self._subject(left), subject_of(self._code, right)
        if self._pairs.setdefault(frozenset((subject.key, other.key)), (subject.key, other.key)) == (
            other.key,
            subject.key,
        ):  # `b < a` after `a > b`
            subject, right, operator = other, left, _FLIPPED[operator]
            left = right if left is right else field_of(node, "right") or left
        question = self._ask(node, subject, "range", subject.name, self.comparisons.bounds(operator, right))
        return replace(question, counted=self._counted(left))

    def _counted(self, node: Node) -> Subject | None:
        """What is counted by `size`, `length` or `count`."""
        plain = unwrapped(self._code, node)
        method, receiver = field_of(plain, "method"), field_of(plain, "receiver")
        is_count = plain.type == "call" and method is not None and self._text_of(method) in _COUNTS
        if (
            not is_count
            or receiver is None
            or children(field_of(plain, "arguments"))
            or field_of(plain, "block")
        ):
            return None
        return subject_of(self._code, receiver)

    def _subject(self, node: Node) -> Subject:
        """The subject of a node; a variable stands for the plain value that it was assigned.

        A variable of one or two letters is also named after its value.
        """
        subject = subject_of(self._code, node)
        plain = unwrapped(self._code, node)
        value = self.assignments.single_value(self._text_of(plain)) if plain.type in _VARIABLES else None
        if value is None:
            return subject
        assigned = subject_of(self._code, value)
        if len(subject.key) <= _SHORT and value.type in _NAMING:
            subject = replace(subject, name=assigned.name, noun=assigned.noun)
        return replace(subject, key=assigned.key) if is_plain(self._code, value) else subject

    def _named_after(self, value: Node, question: Question) -> Question:
        """The question about a variable that the condition assigns; one of one or two letters is named after its value."""
        if len(question.subject.key) > _SHORT or value.type not in _NAMING:
            return question
        assigned = subject_of(self._code, value)
        subject = replace(question.subject, name=assigned.name, noun=assigned.noun)
        wording = self._result_wording(unwrapped(self._code, value), is_flag=False)
        return replace(question, subject=subject, name=f"{assigned.name}_present", wording=wording)

    def _same(self, node: Node, left: Node, right: Node) -> Question:
        """Whether two values are equal; `b == a` is the same question as `a == b`."""
        subject, other = self._subject(left), self._subject(right)
        keys = (subject.key, other.key)
        if self._pairs.setdefault(frozenset(keys), keys) != keys:
            subject, other, left, right = other, subject, right, left
        pair = Pair("equal", "different", equals=self.comparisons.threshold(right))
        noun, second = subject.noun, _OF_ITSELF.get(self._text_of(right), other.noun)
        verbs = ("equal", "differ from") if being(noun) == "are" else ("equals", "differs from")
        wording = pair_wording(noun, pair, *(f"{verb} {second}" for verb in verbs))
        question = self._pair(node, subject, f"equals_{other.name}", pair)
        return replace(question, key=("pair", f"{subject.key}.equals({other.key})"), wording=wording)

    def _matched(self, node: Node, subject: Subject, pattern: Node) -> Question:
        """Whether a text matches a regular expression; each expression is its own question."""
        text = one_line(self._text_of(pattern))
        key = f"{subject.key}.match({self._text_of(pattern)})"
        pair, noun = Pair("match", "no_match"), subject.noun
        shown = text if len(text) <= _LONGEST_PATTERN else f"{text[:_LONGEST_PATTERN]}…"
        verbs = ("match", "do not match") if being(noun) == "are" else ("matches", "does not match")
        wording = pair_wording(noun, pair, *(f"{verb} {shown}" for verb in verbs))
        return replace(self._ask(node, subject, "pair", f"{subject.name}_match", pair, key), wording=wording)

    def choice(
        self, value: Node, patterns: list[Node], node: Node, *, is_closed: bool = False, numbers: bool = False
    ) -> Question:
        """Whether a value is one of some literals, or matches one of some patterns."""
        subject = self._subject(value)
        if numbers:
            bounds = self.comparisons.intervals(patterns, is_closed=is_closed)
            return self._ask(node, subject, "range", subject.name, bounds)
        values = tuple(dict.fromkeys(name for at in patterns for name in self.comparisons.names(at)))
        question = self._value_choice(node, subject, values, is_closed=is_closed)
        be, is_kind = being(subject.noun), node.type in {"when", "in_clause"} or "===" in question.text
        shown = {
            name: text
            for at in patterns
            for name, text in self.comparisons.texts(at, is_kind=is_kind).items()
        }
        states = [pair for name, text in shown.items() for pair in _yes_and_no(name, be, text)]
        return replace(question, wording=Wording(subject.noun, tuple(states))) if states else question

    def _value_choice(
        self, node: Node, subject: Subject, values: tuple[str, ...], *, is_closed: bool = False
    ) -> Question:
        declared = self._declared(subject)
        if declared is not None and not set(values) <= set(declared.values):
            declared = None
        return self._ask(node, subject, "value", subject.name, Choice(values, is_closed, declared))

    def _declared(self, subject: Subject) -> DeclaredValues | None:
        owner, _, attribute = subject.key.rpartition(".")
        declarations = self._context.of_model.declarations(owner) if owner else self._context.own
        return declarations.of(attribute)

    def _ask_number(self, node: Node, receiver: Node, operator: str) -> Question:
        subject = self._subject(receiver)
        question = self._ask(node, subject, "range", subject.name, self.comparisons.bounds(operator, None))
        return replace(question, counted=self._counted(receiver))

    def _kind(self, node: Node, receiver: Node, kind: Node) -> Question:
        subject = subject_of(self._code, receiver)
        name = f"{subject.name}_class"
        key = replace(subject, key=f"{subject.key}.class", name=name)
        names = tuple(self.comparisons.names(kind))
        shown = article(one_line(self._text_of(kind)))
        states = [(name, f"is {shown}") for name in names] + [
            (f"not_{name}", f"is not {shown}") for name in names
        ]
        return replace(self._value_choice(node, key, names), wording=Wording(subject.noun, tuple(states)))

    def _predicate(self, node: Node, name: str, receiver: Node | None) -> Question:
        is_own = receiver is None or self._text_of(receiver) in {"self", "self.class"}
        owner = None if is_own or receiver is None else self._subject(receiver)
        declarations = self._context.of_model.declarations(owner.key) if owner else self._context.own
        if name in declarations.predicates and not children(field_of(node, "arguments")):
            attribute, value = declarations.predicates[name]
            prefix, dot = (f"{owner.name}_", f"{owner.key}.") if owner else ("", "")
            of = Subject(
                f"{dot}{attribute}",
                f"{prefix}{attribute}",
                one_line(self._text_of(node)),
                owner.root if owner else attribute,
            )
            return self._value_choice(node, of, (value,))
        return self._own_predicate(node, name, owner)

    def _own_predicate(self, node: Node, name: str, owner: Subject | None) -> Question:
        """A predicate with two states, which are named after it."""
        word = slug(name.rstrip("?"))
        pair = pair_of(word)
        method = field_of(node, "method")
        is_tried = method is not None and self._text_of(method) == "try"  # `user.try(:admin?)`
        passed = "" if is_tried else _arguments(self._code, node)
        extra = argument_words(self._code, node) if passed else ""
        if (
            passed
            and not extra
            and (word in _TAKES_ARGUMENT or word.rpartition("_")[2] in PREPOSITIONS or word.endswith("ing"))
        ):
            extra = argument_nouns(self._code, node, is_first=word == "respond_to")
        argument = self._method_argument(node) if word == "respond_to" else self._odd_argument(node)
        if argument or extra:
            of = argument or self._key(node) or noun_of(extra)
            wording = self._predicate_wording(word, pair, owner, of)
        else:
            wording = self._wording_about(node, word, pair, owner)
        if wording is None:
            code = one_line(self._text_of(node))
            code = f"`{code}`" if len(code) <= LONGEST_CODE else f"`{code[:LONGEST_CODE]}…`"
            yes, no = (code, f"not {code}") if pair.holds else (f"not {code}", code)
            wording = Phrases("", yes, no)
        if word in _QUANTITIES and _takes_block(node):
            wording = quantity_phrases(owner.noun if owner else "", word)
        pair = _named(pair, wording, extra)
        whole = f"{owner.name}_{pair_of(word).positive}" if owner else pair_of(word).positive
        whole = f"{whole}_{extra}" if extra else whole
        key = f"{owner.key if owner else ''}.{pair_of(word).positive}({passed})"
        question = self._ask(node, subject_of(self._code, node), "pair", whole, pair, key)
        question = replace(
            question, wording=pair_wording(wording.subject, pair, wording.positive, wording.negative)
        )
        is_own = owner is None and self.via is None and name in self.privates
        question = replace(question, via=name) if is_own else question
        if not extra and pair.holds:
            self._predicates[f"{owner.key}.{pair.positive}" if owner else pair.positive] = question
        return question

    def _wording_about(self, node: Node, word: str, pair: Pair, owner: Subject | None) -> Phrases | None:
        """The wording of a predicate without a literal argument: it may be about what it is called with."""
        about = self._first_argument(node)
        is_file = owner is not None and (owner.text in _FILES or word in _FILE_PREDICATES)
        if about and (owner is None or is_file):
            return self._predicate_wording(word, pair, None, "", about)
        wording = self._predicate_wording(word, pair, owner, "")
        actor = actor_phrase(word, about)
        if wording is None or owner is None:
            return wording
        if about and wording.subject != owner.noun:  # `mod.const_defined?(name)`
            return about_named(wording, about)
        if not actor:
            return wording
        return Phrases(wording.subject, *with_actor(wording, actor))

    def _first_argument(self, node: Node) -> str:
        """The first argument of a call, if it is a value with a name."""
        arguments = children(field_of(node, "arguments"))
        if not arguments or unwrapped(self._code, arguments[0]).type not in _NAMING | _VARIABLES:
            return ""
        noun = subject_of(self._code, arguments[0]).noun
        return noun if noun != "value" or self._text_of(arguments[0]) == "value" else ""

    def _key(self, node: Node) -> str:
        """The key that `key?("node_name")` asks for, as written."""
        method, arguments = field_of(node, "method"), children(field_of(node, "arguments"))
        if method is None or len(arguments) != 1 or self._text_of(method) not in {"key?", "has_key?"}:
            return ""
        return one_line(self._text_of(arguments[0])).strip(":'\"")

    def _method_argument(self, node: Node) -> str:
        """The method that `respond_to?(:to_ary)` asks for, as written."""
        arguments = children(field_of(node, "arguments"))
        is_symbol = bool(arguments) and arguments[0].type == "simple_symbol"
        return self._text_of(arguments[0])[1:] if is_symbol else ""

    def _odd_argument(self, node: Node) -> str:
        """A literal argument that is no word, such as `"@"` and `"<p>"`, as written."""
        arguments = children(field_of(node, "arguments"))
        is_text = len(arguments) == 1 and arguments[0].type == "string"
        text = one_line(self._text_of(arguments[0])) if is_text else ""
        return "" if _PLAIN_TEXT.fullmatch(text[1:-1]) or "#{" in text else text

    @staticmethod
    def _predicate_wording(
        word: str, pair: Pair, owner: Subject | None, argument: str, about: str = ""
    ) -> Phrases | None:
        opposite = None if pair.negative == f"not_{pair.positive}" else noun_of(pair.negative)
        noun = owner.noun if owner else ""
        if about:
            return phrases_about(about, pair.positive if not pair.holds else word, opposite)
        if noun.rpartition(" ")[2] in _SETTINGS:
            return setting_phrases(noun, word, argument)
        return predicate_phrases(noun, pair.positive if not pair.holds else word, argument, opposite)

    def _presence_question(self, node: Node, of: Node, predicate: str | None) -> Question:
        subject = self._subject(of)
        if nil_is_empty(self._code, of):
            predicate = _OF_CONVERTED.get(predicate or "", predicate)
        answer = PRESENCES[predicate] if predicate else TRUTHY
        question = self._ask(node, subject, "presence", f"{subject.name}_present", answer)
        plain = unwrapped(self._code, of)
        value = self.assignments.single_value(self._text_of(plain)) if plain.type in _VARIABLES else None
        if value is not None and len(self._text_of(plain)) <= _SHORT and value.type in _NAMING:
            plain, predicate = value, predicate or "nil?"
        wording = self._result_wording(plain, is_flag=predicate is None)
        return replace(question, wording=wording)

    def _result_wording(self, node: Node, *, is_flag: bool) -> Wording | None:
        """The wording for a flag, and for the result of a call that is named after what it does: `find_user(id)`."""
        method, receiver = field_of(node, "method"), field_of(node, "receiver")
        is_own = receiver is None or receiver.type == "self"
        owner = "" if is_own or receiver is None else noun_of(name_of(self._code, receiver))
        if "super" in {node.type, method.type if method is not None else ""}:
            return Wording(
                "super",
                ((PRESENT, "returns a value"), (ABSENT, "returns nothing"), (EMPTY, "returns nothing")),
            )
        name = self._text_of(method if method is not None else node).lstrip("@").rstrip("!")
        phrases: Phrases | None = None
        if is_flag and (
            node.type in _VARIABLES or (node.type == "call" and not _arguments(self._code, node))
        ):
            is_setting = owner.rpartition(" ")[2] in _SETTINGS
            phrases = setting_phrases(owner, name, "") if is_setting else flag_phrases(owner, name)
        if (
            phrases is None
            and node.type == "call"
            and method is not None
            and not is_element(self._code, node)
        ):
            takes = bool(children(field_of(node, "arguments")))
            is_search = name in _SEARCHES and _takes_block(node)
            phrases = (
                quantity_phrases(owner, "any")
                if is_search
                else result_phrases(owner, name, takes_arguments=takes)
            )
        if phrases is None:
            return None
        yes, no = phrases.positive, phrases.negative
        return Wording(phrases.subject, ((PRESENT, yes), (ABSENT, no), (EMPTY, no)))

    def _truth(self, node: Node) -> Question:
        """An expression tested for truth: a flag, the success of an action, or presence."""
        subject = self._subject(node)
        if node.type == "identifier" and self._text_of(node).endswith("?"):
            return self._predicate(node, self._text_of(node), None)
        if subject.key in self._context.flags:
            answer = Pair("enabled", "disabled")
            wording = pair_wording(subject.noun, answer, "is true", "is false")
            return replace(
                self._ask(node, subject, "pair", subject.name, answer, subject.key), wording=wording
            )
        if self._is_action(node):
            return self._action(node, subject)
        if subject.key in self._predicates:
            return replace(self._predicates[subject.key], text=self._text(node), line=line_of(node))
        return self._presence_question(node, node, None)

    def _action(self, node: Node, subject: Subject) -> Question:
        """Whether an action succeeds."""
        method, receiver = field_of(node, "method"), field_of(node, "receiver")
        verb = self._text_of(method if method is not None else node).rstrip("!")
        of = (
            noun_of(name_of(self._code, receiver)) if receiver is not None and receiver.type != "self" else ""
        )
        first, _, rest = verb.partition("_")
        noun = " ".join(filter(None, (gerund(first), noun_of(rest), of)))
        pair = Pair(SUCCEEDED, FAILED)
        wording = pair_wording(noun, pair, "succeeds", "fails")
        return replace(self._ask(node, subject, "pair", subject.name, pair, subject.key), wording=wording)

    def helper(self, node: Node, name: str) -> Question:
        """Whether a private method that can raise an error lets the caller continue."""
        block = field_of(node, "block")
        called = self._text_of(node).removesuffix(self._text_of(block) if block else "")
        subject = replace(subject_of(self._code, node), text=one_line(called))
        pair = Pair(SUCCEEDED, FAILED)
        question = self._ask(node, subject, "pair", slug(name.rstrip("!?")), pair, f"{name}!")
        wording = pair_wording(f"`{name}`", pair, "raises no error", "raises an error")
        return replace(question, wording=wording, via=name)

    def _is_action(self, node: Node) -> bool:
        """Whether a call is made for its effect and returns whether it succeeded."""
        if node.type == "identifier":
            return self._text_of(node) in OWN_ACTIONS
        method = field_of(node, "method") if node.type == "call" else None
        if method is None or self._text_of(method).rstrip("!") not in ACTIONS:
            return False
        first = next(iter(children(field_of(node, "arguments"))), None)
        takes_out = (
            self._text_of(method) in _REMOVALS and first is not None and self.comparisons.is_value(first)
        )
        return not takes_out  # which returns the removed value

    def _pair(self, node: Node, subject: Subject, word: str, pair: Pair) -> Question:
        return self._ask(node, subject, "pair", f"{subject.name}_{word}", pair, f"{subject.key}.{word}")

    def _ask(
        self, node: Node, subject: Subject, kind: str, name: str, answer: Answer, key: str | None = None
    ) -> Question:
        return Question(
            subject,
            (kind, subject.key if key is None else key),
            slug(name),
            answer,
            self._text(node),
            line_of(node),
            self.via,
        )

    def _text(self, node: Node) -> str:
        """A condition as written; of a clause, the text before its body."""
        if node.type not in {"when", "in_clause"}:
            return one_line(self._without_comments(node, node.end_byte))
        body, value = field_of(node, "body"), field_of(node.parent, "value") if node.parent else None
        clause = self._without_comments(node, body.start_byte if body else node.end_byte)
        return one_line(f"case {self._text_of(value) if value else ''} {clause}")

    def _without_comments(self, node: Node, end: int) -> str:
        """The text of a node up to a position; comments between its lines are no part of a condition."""
        text = self._code.text[node.start_byte : end]
        for at in descendants(node) if b"#" in text and b"\n" in text else ():
            if at.type == "comment" and at.end_byte <= end:
                first, last = at.start_byte - node.start_byte, at.end_byte - node.start_byte
                text = text[:first] + b" " * (last - first) + text[last:]
        return text.decode("utf-8", "replace")


def noun_of(name: str) -> str:
    return without_repetition(name.replace("_", " ").replace("/", " ").strip())


def _yes_and_no(name: str, be: str, text: str) -> tuple[tuple[str, str], tuple[str, str]]:
    return (name, f"{be} {text}"), (f"not_{name}", f"{be} not {text}")


def pair_wording(subject: str, pair: Pair, positive: str, negative: str) -> Wording:
    return Wording(subject, ((pair.positive, positive), (pair.negative, negative)))


def _named(pair: Pair, wording: Phrases, extra: str) -> Pair:
    """The states of a predicate; those of a verb are its forms: `has_items` and `has_no_items`."""
    positive, negative = wording.positive, wording.negative
    if positive.startswith(_BEING) or not wording.subject:
        ending = f"_{extra}" if extra else ""
        return Pair(f"{pair.positive}{ending}", f"{pair.negative}{ending}", pair.holds)
    return Pair(slug(positive), slug(negative), pair.holds)


def _takes_block(node: Node) -> bool:
    arguments = children(field_of(node, "arguments"))
    return field_of(node, "block") is not None or any(part.type == "block_argument" for part in arguments)


def _arguments(code: Code, node: Node) -> str:
    arguments = field_of(node, "arguments")
    block = field_of(node, "block")
    return "".join(code.text_of(part) for part in (arguments, block) if part is not None)
