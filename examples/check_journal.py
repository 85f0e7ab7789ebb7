"""Check the chains of a closed run with nothing but Python: python check_journal.py RUN"""  # noqa: INP001

import json
import sys
from collections.abc import Iterator
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any

LARGEST = 2**53 - 1  # of the integers that RFC 8785 can write; larger ones are hashed as text


class Wrong(Exception):  # noqa: N818 - not an error of this program
    """What is wrong with a document or a chain."""


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def canonical(value: object) -> str:
    """RFC 8785; where no number is tiny or huge, json.dumps(sort_keys=True) without blanks would do."""
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
        return "{" + ",".join(f"{canonical(key)}:{canonical(value[key])}" for key in keys) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, int) and abs(value) > LARGEST:
        return f'"{value}"'
    if isinstance(value, float):
        value = value or 0.0  # also for -0.0
        plain = f"{Decimal(repr(value)):f}" if 1e-6 <= abs(value) < 1e21 else repr(value).replace("e-0", "e-")
        return plain.removesuffix(".0")
    return json.dumps(value, ensure_ascii=False)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _number(text: str) -> float:
    if text.strip("-") in {"Infinity", "NaN"} or abs(float(text)) == float("inf"):
        raise ValueError(f"{text} is not a number of JSON")
    return float(text)


def parse(data: bytes) -> Any:  # noqa: ANN401 - any JSON
    """JSON, read strictly: programs differ about keys that occur twice, and about infinite numbers."""
    text = data.decode("utf-8")
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_float=_number, parse_constant=_number)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return value


def read(path: Path) -> bytes:
    """The bytes of a regular file, never of the target of a link."""
    if path.is_symlink() or not path.is_file():
        raise Wrong(f"{path.name} is missing, or not a regular file")
    return path.read_bytes()


def chain(data: bytes, record_id: str, first: str | None = None) -> Iterator[dict[str, Any]]:
    """The lines of a chain; raises Wrong at the first that was changed or moved. `first` is what the only chain of amendments
    begins with.
    """
    heads: dict[str, tuple[int, str]] = {}
    *lines, rest = data.split(b"\n")
    for number, text in enumerate(lines, 1):
        try:
            line = parse(text)
            writer, payload = line["writer"], line.get("payload")
            hashed = digest(canonical({key: line[key] for key in line.keys() - {"payload", "salt", "hash"}}))
            count, prev = heads.get(writer, (0, first or digest(f"runcard-journal-1:{record_id}:{writer}")))
            if ("payload" in line) != ("salt" in line):
                raise Wrong(f"line {number}: a payload without its salt, or a salt without its payload")
            if "payload" in line and line["payload_sha256"] != digest(line["salt"] + canonical(payload)):
                raise Wrong(f"line {number}: the payload was changed")
            if type(line["seq"]) is not int or [line["seq"], line["prev"], line["hash"]] != [
                count + 1,
                prev,
                hashed,
            ]:
                raise Wrong(f"line {number}: it was changed, or does not follow the one before")
        except (ValueError, KeyError, TypeError, AttributeError):
            raise Wrong(f"line {number}: it is not a line of a journal") from None
        heads[writer] = (count + 1, hashed)
        yield line
    if rest:
        raise Wrong("the last line is truncated")


def check_journal(run: Path) -> int:
    """The number of events in the journal of a run; raises Wrong if it is not the one that was closed."""
    try:
        document = parse(read(run / "metadata.json"))
        record_id = document["generation"]["run_id"]
        stated = [
            (each["writer"], each["count"], each["head"]) for each in document.get("event_chains") or ()
        ]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Wrong("metadata.json is not the document of a run") from None
    heads = {line["writer"]: line for line in chain(read(run / "experiment.jsonl"), record_id)}
    ends = [(writer, line["seq"], line["hash"]) for writer, line in heads.items()]
    if sorted(map(canonical, map(list, ends))) != sorted(map(canonical, map(list, stated))):
        raise Wrong("the journal does not end where metadata.json says")
    return sum(count for _, count, _ in ends)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python check_journal.py RUN")
    try:
        sys.stdout.write(f"{check_journal(Path(sys.argv[1]))} events: the chains hold\n")
    except (Wrong, OSError) as error:
        sys.exit(str(error))
