"""Markdown for people who browse: README.md of a run.

It is made of the document and the names of the files alone, so it is the same whoever writes it. Names are escaped: none
can break the table or hide in it.
"""

import re
from json import dumps
from shlex import join
from typing import Any

from runcard.documents.exact_sums import exact_sum, plain_number
from runcard.encoding import JsonObject
from runcard.files import printable

_SHOWN = 30  # of files, settings and troubles
_LEAST = 0.000001  # dollars
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~&$])")
_STATUS = {"completed": "✅", "failed": "❌", "interrupted": "⚠️"}
_SOURCES = {
    "priced": "by the price table",
    "given": "given by the caller",
    "reported": "reported by the vendor",
    "partial": "partly reported: a stream was cut",
    "estimated": "estimated",
}


def escape(text: object) -> str:
    """A text as it may stand in a sentence or a table."""
    return _SPECIAL.sub(r"\\\1", printable(str(text)))


def code(text: object) -> str:
    """A text in code font, whatever it holds."""
    plain = printable(str(text)).replace("|", "\\|")
    if not plain.strip():
        return ""
    longest = max((len(run) for run in re.findall("`+", plain)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {plain} {fence}" if longest else f"`{plain}`"


def readme(document: JsonObject, files: list[tuple[str, int]]) -> str:
    """The page that greets whoever opens a run's directory."""
    generation = document["generation"]
    title = generation.get("experiment_name") or generation["run_id"]
    sections = [
        f"{_mark(generation['run_id'])}\n# {escape(title)}",
        _summary(document),
        _made(files),
        _from(document["data_sources"]),
        _with(document),
        _cost(document),
        _trouble(document),
        _verify(),
        _again(document),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _mark(run_id: str) -> str:
    return f"<!-- runcard {run_id} -->"


def is_readme_of(beginning: bytes, run_id: str) -> bool:
    """Whether a file that begins like this is the page that runcard wrote for this run."""
    return beginning.startswith(_mark(run_id).encode())


def experiment_readme(name: str, said: JsonObject) -> str:
    """The page that greets whoever opens the folder of an experiment; `said` are the keys of its config.yaml."""
    about = f"\n\n{escape(said['description'])}" if said.get("description") else ""
    return f"""\
# {escape(name)}{about}

* **Experiment** {code(said["experiment_id"])}
* **Created** {escape(said["created_at"])}

## What lies here

| | |
|---|---|
| [`config.yaml`](config.yaml) | the configuration that every run begins with |
| [`data/`](data) | the inputs: every run records which they were, and their digests |
| [`outputs/`](outputs) | a directory for each run, with a `README.md` of its own |

## How to run it

```console
$ runcard run --experiment {name} -- COMMAND
```

or from Python:

```python
with runcard.record("experiments/{name}/outputs", experiment="{name}") as run:
    ...
```

## What came of it

```console
$ runcard experiment show {name}
$ runcard verify experiments/{name}/outputs
```
"""


def _summary(document: JsonObject) -> str:
    generation = document["generation"]
    status = generation["status"]
    estimated = " (estimated: the end was not seen)" if generation.get("estimated") else ""
    lines = [
        f"**Run** {code(generation['run_id'])} {_STATUS.get(status, '')} {status}",
        f"**Started** {generation['timestamp_start']}",
        f"**Took** {duration(generation['duration_seconds'])}{estimated}",
    ]
    return "  \n".join(lines)


def duration(seconds: float | None) -> str:
    """A time span as people say it."""
    if seconds is None:
        return "unknown"
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"


def size(count: int) -> str:
    """A number of bytes as people say it."""
    if count < 1000:
        return f"{count} B"
    amount = float(count)
    for unit in ("kB", "MB", "GB", "TB"):
        amount /= 1000
        if amount < 999.95 or unit == "TB":
            break
    return f"{amount:.1f} {unit}"


def _made(files: list[tuple[str, int]]) -> str:
    if not files:
        return "## What was made\n\nNo files."
    rows = [f"| {code(path)} | {size(count)} |" for path, count in files[:_SHOWN]]
    more = _more(files, "; `SHA256SUMS` lists them all")
    return "## What was made\n\n| File | Size |\n|---|---:|\n" + "\n".join(rows) + more


def _more(items: list[Any], where: str = "; `metadata.json` has them all") -> str:
    left = len(items) - _SHOWN
    return f"\n\n… and {left:,} more{where}." if left > 0 else ""


def _from(sources: JsonObject) -> str:
    files = sources["files"] or []
    if not files:
        return "## From what\n\nNo inputs were recorded."
    rows = [
        f"| {code(file['path'])} | {size(file['bytes']) if file.get('bytes') is not None else 'unknown'}"
        f" | {tokens(file.get('tokens'))} |"
        for file in files[:_SHOWN]
    ]
    return "## From what\n\n| Input | Size | Tokens |\n|---|---:|---:|\n" + "\n".join(rows) + _more(files)


def tokens(count: int | None) -> str:
    return "unknown" if count is None else f"{count:,}"


def money(amount: float | None) -> str:
    """Dollars, with as many digits as it takes; unknown is not zero."""
    if amount is None:
        return "unknown"
    if 0 < amount < _LEAST:
        return f"less than ${_LEAST:f}"
    if amount >= 1:
        return f"${amount:,.2f}"
    whole, _, fraction = f"{amount:.6f}".partition(".")
    return f"${whole}.{fraction.rstrip('0'):0<2}"


def _with(document: JsonObject) -> str:
    environment = document["environment"]
    rows = [(key, value) for key, value in document["configuration"].items() if value is not None]
    left = _more(rows)
    rows = rows[:_SHOWN]
    git = environment.get("git") or {}
    if git.get("commit"):
        rows.append(("git commit", git["commit"] + (" with uncommitted changes" if git.get("dirty") else "")))
    rows += [
        (label, environment[key])
        for key, label in (("python_version", "Python"), ("platform", "platform"), ("timezone", "timezone"))
        if environment.get(key)
    ]
    table = "\n".join(f"| {escape(key)} | {code(short(value, 120))} |" for key, value in rows)
    return f"## With what\n\n| | |\n|---|---|\n{table}{left}"


def short(value: object, most: int) -> str:
    """A value on one line, cut where it is long: text as it is, everything else as JSON."""
    text = value if isinstance(value, str) else dumps(value, ensure_ascii=False)
    return text if len(text) <= most else text[: most - 1] + "…"


def from_where(source: str) -> str:
    """In words, what a document says about the source of a count or a cost."""
    return _SOURCES.get(source, source)


def total_cost(document: JsonObject) -> str:
    """What a run cost, and where that comes from; where it is not known, what of it is."""
    costs = document["costs"]
    source, total = costs.get("cost_source"), costs["total_cost_usd"]
    if total is not None:
        return money(total) + (f" ({from_where(source)})" if source else "")
    parts = (document.get("token_usage") or {}).get("breakdown_by_model") or []
    known = [part["cost_usd"] for part in parts if part.get("cost_usd") is not None]
    return f"unknown; {money(plain_number(exact_sum(known)))} of it is known" if known else "unknown"


def _cost(document: JsonObject) -> str:
    costs = document["costs"]
    lines = [
        f"* **Cost**: {total_cost(document)}",
        f"* **Input tokens**: {tokens(costs['input_tokens'])}"
        + (
            f" ({tokens(costs['cache_read_tokens'])} of them from the cache)"
            if costs.get("cache_read_tokens")
            else ""
        ),
        f"* **Output tokens**: {tokens(costs['output_tokens'])}",
    ]
    if costs.get("token_source"):
        lines.append(f"* **Token counts are** {from_where(costs['token_source'])}")
    return "## For how much\n\n" + "\n".join(lines)


def _trouble(document: JsonObject) -> str:
    problems = [
        f"* **{word}**: {escape(short(told(problem), 200))}"
        for key, word in (("errors", "Error"), ("warnings", "Warning"))
        for problem in document[key]
    ]
    return "## What went wrong\n\n" + "\n".join(problems[:_SHOWN]) + _more(problems) if problems else ""


def told(problem: JsonObject) -> str:
    """An error or a warning in one sentence."""
    kind = problem.get("type")
    return f"{kind}: {problem['message']}" if kind else problem["message"]


def _verify() -> str:
    return (
        "## How to check it\n\n"
        "```console\n$ runcard verify .\n$ sha256sum -c SHA256SUMS\n```\n\n"
        "`metadata.json` holds the whole record, `experiment.jsonl` everything that happened, line by line."
    )


def _again(document: JsonObject) -> str:
    generation = document["generation"]
    command = generation.get("command")
    if not command:
        return ""
    was_run = generation.get("exit_code") is not None  # by us, who gave it its directory
    again = f"{'runcard run -- ' if was_run else ''}{printable(join(command))}"
    return f"## How to run it again\n\n```console\n$ {again}\n```"
