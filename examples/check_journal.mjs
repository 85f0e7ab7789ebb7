// Check the chains of a closed run with nothing but JavaScript: node check_journal.mjs RUN
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

// RFC 8785, whose numbers are those of JavaScript.
const canonical = (value) =>
  Array.isArray(value) ? `[${value.map(canonical)}]`
  : value && typeof value === "object"
    ? `{${Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`)}}`
    : JSON.stringify(value);
const digest = (text) => createHash("sha256").update(text, "utf8").digest("hex");
const read = (name) => readFileSync(`${process.argv[2]}/${name}`, "utf8");
const fail = (what) => { console.error(what); process.exit(1); };

const { generation, event_chains = [] } = JSON.parse(read("metadata.json"));
const heads = {};
for (const [index, text] of read("experiment.jsonl").split("\n").slice(0, -1).entries()) {
  const { payload, salt, hash, ...rest } = JSON.parse(text);
  const before = heads[rest.writer] ??
    { count: 0, head: digest(`runcard-journal-1:${generation.run_id}:${rest.writer}`) };
  if (payload !== undefined && rest.payload_sha256 !== digest(salt + canonical(payload)))
    fail(`line ${index + 1}: the payload was changed`);
  if (rest.seq !== before.count + 1 || rest.prev !== before.head || hash !== digest(canonical(rest)))
    fail(`line ${index + 1}: it was changed, or does not follow the one before`);
  heads[rest.writer] = { count: rest.seq, head: hash };
}
const stated = Object.fromEntries(event_chains.map(({ writer, count, head }) => [writer, { count, head }]));
if (canonical(heads) !== canonical(stated)) fail("the journal does not end where metadata.json says");
console.log(`${Object.values(heads).reduce((sum, { count }) => sum + count, 0)} events: the chains hold`);
