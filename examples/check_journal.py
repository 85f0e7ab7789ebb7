"""Check the chains of a closed run with nothing but Python: python check_journal.py RUN"""  # noqa: INP001

import json
import sys
from decimal import Decimal
from hashlib import sha256
from pathlib import Path


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def canonical(value: object) -> str:
    """RFC 8785; where no number is tiny or huge, json.dumps(sort_keys=True) without blanks would do."""
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
        return "{" + ",".join(f"{canonical(key)}:{canonical(value[key])}" for key in keys) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, float):
        value = value or 0.0  # also for -0.0
        plain = f"{Decimal(repr(value)):f}" if 1e-6 <= abs(value) < 1e21 else repr(value).replace("e-0", "e-")
        return plain.removesuffix(".0")
    return json.dumps(value, ensure_ascii=False)


run = Path(sys.argv[1])
if not (run / "experiment.jsonl").is_file():
    sys.exit(f"{run} has no journal")
document = json.loads((run / "metadata.json").read_bytes())
heads: dict[str, tuple[int, str]] = {}
for number, text in enumerate((run / "experiment.jsonl").read_text("utf-8").split("\n")[:-1], 1):
    line = json.loads(text)
    first = f"runcard-journal-1:{document['generation']['run_id']}:{line['writer']}"
    count, prev = heads.get(line["writer"], (0, digest(first)))
    hashed = digest(canonical({key: line[key] for key in line.keys() - {"payload", "salt", "hash"}}))
    if "payload" in line and line["payload_sha256"] != digest(line["salt"] + canonical(line["payload"])):
        sys.exit(f"line {number}: the payload was changed")
    if (line["seq"], line["prev"], line["hash"]) != (count + 1, prev, hashed):
        sys.exit(f"line {number}: it was changed, or does not follow the one before")
    heads[line["writer"]] = (line["seq"], hashed)
if heads != {chain["writer"]: (chain["count"], chain["head"]) for chain in document.get("event_chains", [])}:
    sys.exit("the journal does not end where metadata.json says")
sys.stdout.write(f"{sum(count for count, _ in heads.values())} events: the chains hold\n")
