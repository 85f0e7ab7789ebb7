// Check the chains of a closed run with nothing but JavaScript: node check_journal.mjs RUN
import { createHash } from "node:crypto";
import { lstatSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { canonical, parseJson } from "./verify-run/verify_run.mjs"; // RFC 8785, and a strict reader: no key occurs twice

const digest = (text) => createHash("sha256").update(text, "utf8").digest("hex");

// The bytes of a regular file, never of the target of a link.
function read(name) {
  const path = join(process.argv[2], name);
  if (!lstatSync(path, { throwIfNoEntry: false })?.isFile()) throw new Error(`${name} is missing, or not a regular file`);
  return readFileSync(path);
}

function checkLine(text, runId, heads) {
  const { payload, salt, hash, ...rest } = parseJson(text);
  const before = heads.get(rest.writer) ?? { count: 0, head: digest(`runcard-journal-1:${runId}:${rest.writer}`) };
  if ((payload === undefined) !== (salt === undefined)) throw new Error("a payload without its salt, or a salt without its payload");
  if (payload !== undefined && rest.payload_sha256 !== digest(salt + canonical(payload))) throw new Error("the payload was changed");
  if (rest.seq !== before.count + 1 || rest.prev !== before.head || hash !== digest(canonical(rest)))
    throw new Error("it was changed, or does not follow the one before");
  heads.set(rest.writer, { count: rest.seq, head: hash });
}

function checkJournal() {
  const { generation, event_chains } = parseJson(read("metadata.json"));
  const data = read("experiment.jsonl"), heads = new Map();
  let start = 0;
  for (let end, number = 1; (end = data.indexOf(10, start)) >= 0; start = end + 1, number += 1)
    try {
      checkLine(data.subarray(start, end), generation.run_id, heads);
    } catch (error) {
      throw new Error(`line ${number}: ${error.message}`);
    }
  if (start < data.length) throw new Error("the last line is truncated");
  const ends = (chains) => canonical([...chains].sort((left, right) => (left[0] < right[0] ? -1 : 1)));
  const stated = (event_chains ?? []).map(({ writer, count, head }) => [writer, { count, head }]);
  if (ends(heads) !== ends(stated)) throw new Error("the journal does not end where metadata.json says");
  return [...heads.values()].reduce((sum, { count }) => sum + count, 0);
}

try {
  console.log(`${checkJournal()} events: the chains hold`);
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
