"""The program that hooks of agent tools run: it notes that something happened in a session, and starts the import.

It is run by its path, with `python -I -S`: it must not import runcard, nor anything that takes time (`json` and `re` would double it).
It never fails, prints nothing, and returns before the import begins. The note has the id, the folder and the session file,
and nothing that was said: prompts and replies are in what a tool passes on, and are dropped here.

One note for each session: the last event wins. The note has its final name when it is whole.
"""

import os
import sys
import time

_MOST = 64 << 20  # bytes that a tool may pass on
_LONGEST_NAME = 120
_LONGEST_TEXT = 4096
_SECONDS = 4  # after which a hook ends, whatever it waits for
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
_CATCH_UP = frozenset({"SessionStart", "session.created"})  # when a session starts, others may have been left
_NOTED = frozenset({"session.busy"})  # there will be more


def main(arguments: list[str]) -> int:
    """Note the event `arguments[1]` of the tool `arguments[0]`, by what is on standard input."""
    try:
        import _signal  # type: ignore[import-not-found]  # noqa: PLC0415 - `signal` imports `enum`

        _signal.alarm(_SECONDS)
        tool, event = arguments
        note(tool, event, _read(0))
        _signal.alarm(0)
    except BaseException:  # noqa: BLE001 - whatever it is: the agent goes on
        return 0
    return 0


def note(tool: str, event: str, data: bytes) -> None:
    """Write the note of a session, and start what works on it."""
    facts = _decode(data)
    session = facts.get("session_id")
    folder = notes_folder(os.environ)
    if type(session) is not str or not session or folder is None:
        return
    name = f"{tool}-{session}" if _is_safe(session) else f"{tool}-x{session.encode('utf-8', 'replace').hex()}"
    if len(name) > _LONGEST_NAME or not _is_safe(tool):
        return
    fields = {
        "tool": tool,
        "session": session,
        "event": event,
        "folder": _text(os.environ.get("CLAUDE_PROJECT_DIR") or facts.get("cwd")),
        "transcript": _text(facts.get("transcript_path")),
        "run": _text(os.environ.get("RUNCARD_RUN_DIR")),
        "time": repr(time.time()),
    }
    os.makedirs(folder, 0o700, exist_ok=True)
    _write(os.path.join(folder, f"{name}.note"), fields)
    if event in _CATCH_UP:
        _start([])
    elif event in _NOTED:
        return
    elif not _is_locked(os.path.join(folder, f"{name}.lock")):
        _start(["--only", name])


def notes_folder(environ: "os._Environ[str]") -> str | None:
    """Where the notes are."""
    state = environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(state):
        state = os.path.join(environ.get("HOME") or os.path.expanduser("~"), ".local", "state")
    return os.path.join(state, "runcard", "hooks") if os.path.isabs(state) else None


def _read(descriptor: int) -> bytes:
    parts: list[bytes] = []
    left = _MOST
    while left > 0 and (part := os.read(descriptor, min(left, 1 << 20))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _decode(data: bytes) -> dict[str, object]:
    text = data.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    try:
        from _json import make_scanner  # noqa: PLC0415 - what `json` uses itself

        class ScannerContext:
            strict = False
            memo: dict[str, str] = {}  # noqa: RUF012 - the scanner's own
            object_hook = object_pairs_hook = None
            parse_float = parse_int = parse_constant = float  # `int` refuses thousands of digits

        facts = make_scanner(ScannerContext)(text, 0)[0]  # type: ignore[arg-type]
    except (ImportError, AttributeError, TypeError):  # another Python
        import json  # noqa: PLC0415

        facts = json.loads(text, parse_int=float)
    return facts if type(facts) is dict else {}


def _is_safe(text: str) -> bool:
    return bool(text) and _SAFE.issuperset(text)


def _text(value: object) -> str:
    return value if type(value) is str and len(value) < _LONGEST_TEXT else ""


def _write(path: str, fields: dict[str, str]) -> None:
    """One line for each field: a name, a space and the value with its backslashes and line ends escaped."""
    lines = [
        name + " " + value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
        for name, value in fields.items()
    ]
    temporary = f"{path}.{os.getpid()}.tmp"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, _encoded("\n".join(lines) + "\n"))
    finally:
        os.close(descriptor)
    os.rename(temporary, path)


def _encoded(text: str) -> bytes:
    """The bytes of a text. Half a character, which JSON can have, becomes the one that stands for it in a file name."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def _is_locked(path: str) -> bool:
    """Whether a process works on the session; before it ends, it looks for a newer note."""
    import fcntl  # noqa: PLC0415

    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _start(options: list[str]) -> None:
    """Start the import in a process of its own session, which keeps nothing of the agent's open."""
    if os.fork():
        return
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        os.closerange(3, 1024)
        os.nice(10)
        os.chdir("/")
        # -P: a folder of the agent's must not be able to change what is imported
        command = [sys.executable, "-P", "-m", "runcard", "hook", "--catch-up", *options]
        os.execv(sys.executable, command)  # noqa: S606
    finally:
        os._exit(1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
