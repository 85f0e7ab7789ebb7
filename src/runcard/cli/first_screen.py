"""What `runcard` alone prints: the records of this folder, and commands to type next."""

from runcard.cli.printing import say_text
from runcard.cli.typed_command import typed_command
from runcard.files import printable
from runcard.store import layout
from runcard.store.stores_at_hand import stores_at_hand
from runcard.views.formats import counted

_FIRST = {
    "demo": "a 30-second tour: no network, no API keys",
    "costs --source all --by project": "what your agents cost until now",
    "import claude-code --all": "keep their sessions before they are deleted",
    "run -- echo hello": "record a command: this one, or any other",
}
_NEXT = {
    "ls": "list them, and those of other folders",
    "show @latest": "the newest one on one screen",
    "serve": "all of them as a page in your browser",
}
_HELP = {"--help": "all commands"}


def print_first_screen() -> int:
    """Print it; the exit code."""
    stores = {printable(store): _content(store) for store in stores_at_hand()}
    there = {
        "this folder" if store == "." else store: content for store, content in stores.items() if content
    }
    begin = (
        ["The records here:", "", *_table(there), ""]
        if there
        else ["There are no records here yet. Try:", ""]
    )
    runcard = typed_command()
    commands = (_NEXT if there else _FIRST) | _HELP
    say_text("\n".join([*begin, *_table({f"{runcard} {words}": about for words, about in commands.items()})]))
    return 0


def _content(store: str) -> str:
    """How many records of each kind a store has, by the names of its files."""
    records = layout.records(store)
    sessions = sum(map(layout.is_session, records))
    numbers = {
        "run": len(records) - sessions,
        "session": sessions,
        "archive": len(layout.archives_in(layout.archive_folder(store))),
    }
    return ", ".join(counted(number, noun) for noun, number in numbers.items() if number)


def _table(rows: dict[str, str]) -> list[str]:
    width = max(map(len, rows))
    return [f"  {first:<{width}}  {second}" for first, second in rows.items()]
