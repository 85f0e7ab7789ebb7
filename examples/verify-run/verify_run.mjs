// Verify a closed run with nothing but JavaScript: node verify_run.mjs RUN
//
// It prints the verdicts and the findings of `runcard verify`, as JSON. Not checked here: the ledger of the store, who a key
// belongs to, whether an authority is trusted, whether a migration only converted a document, and of the document only the fields that `compareWithJournal` names. Node 18 or newer; no dependencies.
import { createHash, createPublicKey, verify } from "node:crypto";
import { lstatSync, readFileSync, readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { checkTimestamps } from "./timestamps.mjs";

const METADATA = "metadata.json", LISTING = "SHA256SUMS", JOURNAL = "experiment.jsonl";
const AMENDMENTS = "amendments.jsonl", SIGNATURES = "metadata.json.sig", TIMESTAMPS = "metadata.json.tsr";
const NOT_LISTED = new Set([METADATA, LISTING, AMENDMENTS, SIGNATURES, TIMESTAMPS]);
const BREAKS = {
  changed: "intact", unexpected: "intact", link: "intact", chain: "intact", document: "intact", signature: "intact", timestamp: "intact",
  missing: "complete", tail: "complete", open: "complete",
};

export function verifyRun(directory) {
  const findings = [];
  const report = (kind, path, message) => findings.push({ kind, path, message });
  const signers = [], timestamps = [];
  const run = new Run(directory, report);
  let fingerprint = run.metadata && digest(run.metadata);
  if (run.document?.generation?.status === "running") {
    report("open", METADATA, "the run is not closed");
    checkChains(run.journal(), run.id(), report, JOURNAL);
  } else {
    const amendments = readAmendments(run, report);
    fingerprint = amendments.sealed;
    checkFiles(run, amendments, report);
    checkJournal(run, report);
    if (run.isFile(SIGNATURES)) signers.push(...checkSignatures(run, amendments, report));
    if (run.isFile(TIMESTAMPS)) {
      const wrong = (message) => report("timestamp", TIMESTAMPS, message);
      timestamps.push(...checkTimestamps(run.read(TIMESTAMPS), stampedHeads(run, amendments), wrong));
    }
  }
  const holds = (verdict) => !findings.some(({ kind }) => BREAKS[kind] === verdict);
  const verdict = (kind, right) => (findings.some((found) => found.kind === kind) ? false : right.length ? true : null);
  const intact = holds("intact"), complete = holds("complete"), unsigned = Math.min(...signers.map(({ changes }) => changes));
  // A signature covers the run as it was: what was changed later is not signed.
  const isCurrent = verdict("signature", signers) && intact && complete && unsigned === 0;
  return {
    intact,
    complete,
    signed: signers.length ? isCurrent : verdict("signature", signers),
    timestamped: verdict("timestamp", timestamps),
    fingerprint: fingerprint && `sha256:${fingerprint}`, // of the document as it was closed
    signers: signers.map(({ fingerprint }) => fingerprint),
    unsigned_changes: signers.length ? unsigned : null, // since the last signature
    timestamps,
    findings: [...new Set(findings.map(({ kind }) => kind))].sort(),
    details: findings,
  };
}

// --- JSON ---------------------------------------------------------------------------------------------------------------

// A strict reader: no duplicate keys, no text that is not UTF-8. Integers from 2^53 up become text, as they are hashed.
export function parseJson(bytes) {
  const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  let at = 0;
  const fail = () => { throw new SyntaxError(`not JSON at character ${at}`); };
  const space = () => { while (" \t\n\r".includes(text[at] ?? "x")) at += 1; };
  const take = (pattern) => {
    pattern.lastIndex = at;
    const match = pattern.exec(text) ?? fail();
    at += match[0].length;
    return match[0];
  };
  const string = () => {
    const found = JSON.parse(take(/"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y));
    if (/\p{Surrogate}/u.test(found)) throw new SyntaxError("half of a pair is not a character");
    return found;
  };
  const members = (end, member) => {
    at += 1;
    space();
    if (text[at] !== end)
      for (;;) {
        member();
        space();
        if (text[at] === end) break;
        if (text[at] !== ",") fail();
        at += 1;
        space();
      }
    at += 1;
  };
  const value = (depth) => {
    if (depth > 200) fail();
    space();
    if (text[at] === "{") {
      const object = Object.create(null);
      members("}", () => {
        const key = string();
        if (key in object) throw new SyntaxError(`the key ${key} occurs twice`);
        space();
        if (text[at] !== ":") fail();
        at += 1;
        space();
        const start = at;
        object[key] = value(depth + 1);
        if (key === "seq" && !depth && typeof object[key] === "number" && !/^\d+$/.test(text.slice(start, at))) fail();
      });
      return object;
    }
    if (text[at] === "[") {
      const list = [];
      members("]", () => list.push(value(depth + 1)));
      return list;
    }
    if (text[at] === '"') return string();
    const word = take(/true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y);
    if (/^[tfn]/.test(word)) return JSON.parse(word);
    const number = Number(word);
    if (!Number.isFinite(number)) fail();
    return /^-?[0-9]+$/.test(word) && !Number.isSafeInteger(number) ? word : number;
  };
  const result = value(0);
  space();
  if (at !== text.length) fail();
  return result;
}

// RFC 8785, whose numbers and order of keys are those of JavaScript.
export const canonical = (value) =>
  Array.isArray(value) ? `[${value.map(canonical)}]`
  : isObject(value)
    ? `{${Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`)}}`
    : JSON.stringify(value);
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const isDigest = (value) => isText(value) && /^[0-9a-f]{64}$/.test(value);
const isText = (value) => typeof value === "string";
const digest = (data) => createHash("sha256").update(data).digest("hex");

// Null is the same as absent, except in a list.
function same(left, right) {
  if (Array.isArray(left) && Array.isArray(right))
    return left.length === right.length && left.every((item, index) => same(item, right[index]));
  if (isObject(left) && isObject(right))
    return [...new Set([...Object.keys(left), ...Object.keys(right)])].every((key) => same(left[key], right[key]));
  return (left ?? null) === (right ?? null);
}

// --- The record ---------------------------------------------------------------------------------------------------------

const LISTS = { // of the document, and what an item must have
  event_chains: (item) => isObject(item) && isText(item.writer) && Number.isSafeInteger(item.count) && isDigest(item.head),
  symlinks: (item) => isObject(item) && isText(item.path) && isText(item.target),
  warnings: isObject,
  errors: isObject,
};

class Run {
  constructor(directory, report) {
    this.directory = directory;
    for (const name of NOT_LISTED)
      if (this.has(name) && !lstatSync(join(directory, name)).isFile()) report("link", name, "it is not a regular file");
    this.metadata = this.read(METADATA);
    this.document = null; // as it was closed; null if it cannot be used
    this.isNewer = false;
    if (this.metadata === null) report("missing", METADATA, "the metadata document is missing");
    else this.#parse(report);
  }

  #parse(report) {
    const wrong = (message) => report("document", METADATA, message);
    let document;
    try {
      document = parseJson(this.metadata);
    } catch (error) {
      return wrong(error.message);
    }
    const [, major, minor] = /^(\d+)\.(\d+)/.exec(isText(document?.metadata_version) ? document.metadata_version : "") ?? [];
    if (!isObject(document) || major === undefined) return wrong("it is not a metadata document of a run");
    if (major !== "1") return wrong(`version ${document.metadata_version} is not known`);
    this.isNewer = minor !== "0";
    this.document = document;
    for (const name of ["generation", "configuration", "data_sources", "environment", "costs", "checksums"])
      if (!isObject(document[name])) wrong(`/${name} is not an object`);
    for (const [name, isItem] of Object.entries(LISTS)) {
      if (document[name] === undefined || (Array.isArray(document[name]) && document[name].every(isItem))) continue;
      wrong(`/${name} is not a list of its items`);
      document[name] = Array.isArray(document[name]) ? document[name].filter(isObject) : undefined;
    }
    const stated = document.checksums ?? {};
    if (stated.config && stated.config !== `sha256:${digest(canonical(document.configuration))}`)
      wrong("/checksums/config: the digest is not that of the configuration");
    const inputs = document.data_sources?.files ?? [];
    if (Array.isArray(inputs) && inputs.every(isObject) && (stated.data ?? null) !== inputsDigest(inputs))
      wrong("/checksums/data: the digest is not that of the inputs listed");
  }

  has(name) {
    return lstatSync(join(this.directory, name), { throwIfNoEntry: false }) !== undefined;
  }

  isFile(name) {
    return lstatSync(join(this.directory, name), { throwIfNoEntry: false })?.isFile() ?? false;
  }

  // The bytes of a regular file, never of the target of a link; null without one.
  read(name) {
    return this.isFile(name) ? readFileSync(join(this.directory, name)) : null;
  }

  journal() {
    return (this.lines ??= parseLines(this.read(JOURNAL)));
  }

  id() {
    const first = this.journal()?.entries.find(({ line }) => isText(line.run_id));
    return this.document?.generation?.run_id ?? first?.line.run_id ?? "";
  }
}

// A list of inputs in the format of SHA256SUMS, sorted by the bytes of the paths.
function inputsDigest(files) {
  const named = files.filter(({ path, sha256 }) => path && sha256);
  const lines = named.map(({ path, sha256 }) => ({ path: Buffer.from(path), line: sumsLine(path, sha256) }));
  lines.sort((left, right) => Buffer.compare(left.path, right.path));
  return lines.length ? `sha256:${digest(lines.map(({ line }) => line).join(""))}` : null;
}

function sumsLine(path, hex) {
  const escaped = path.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll("\r", "\\r");
  return `${escaped === path ? "" : "\\"}${hex}  ${path === "-" ? "./-" : escaped}\n`;
}

// --- Chains -------------------------------------------------------------------------------------------------------------

const LINKS = ["writer", "prev", "payload_sha256", "hash"];

// The lines of a journal: those that can be parsed, the numbers of the others, and whether the last one is unfinished.
function parseLines(data) {
  if (data === null) return null;
  const entries = [], damaged = [];
  let start = 0, number = 0;
  for (let end; (end = data.indexOf(10, start)) >= 0; start = end + 1) {
    number += 1;
    try {
      const line = parseJson(data.subarray(start, end));
      const isLine = Number.isSafeInteger(line?.seq) && LINKS.every((field) => isText(line[field]));
      if (!isLine) throw new SyntaxError("it is not a line of a chain");
      entries.push({ number, line });
    } catch {
      damaged.push(number);
    }
  }
  return { entries, damaged, isTorn: start < data.length };
}

// Check the chain of each writer; the last event of each. `first` is what the only chain of amendments begins with.
function checkChains(journal, id, report, name, first = null) {
  const heads = new Map();
  if (journal === null) return heads;
  for (const number of journal.damaged) report("chain", name, `line ${number} cannot be parsed`);
  for (const { number, line } of journal.entries) {
    const { payload, salt, hash, ...hashed } = line;
    const before = heads.get(line.writer) ??
      { count: 0, head: first ?? digest(`runcard-journal-1:${id}:${line.writer}`) };
    const wrong = (message) => report("chain", name, `line ${number}: ${message}`);
    if (line.seq !== before.count + 1) wrong(`event ${line.seq} follows ${before.count}`);
    else if (line.prev !== before.head) wrong("it does not follow the previous line");
    if (("payload" in line) !== ("salt" in line)) wrong("a payload without its salt, or a salt without its payload");
    else if ("payload" in line && line.payload_sha256 !== digest(salt + canonical(payload))) wrong("the payload was changed");
    if (hash !== digest(canonical(hashed))) wrong("it was changed");
    heads.set(line.writer, { count: line.seq, head: hash });
  }
  if (journal.isTorn && name !== JOURNAL) report("chain", name, "the last line is torn");
  return heads;
}

function checkJournal(run, report) {
  const journal = run.journal();
  const stated = run.document?.event_chains;
  if (journal === null) {
    if (stated?.length && !run.listing?.has(JOURNAL)) report("missing", JOURNAL, "the journal is missing");
    return;
  }
  const wasDamaged = run.document?.warnings?.some((warning) => warning?.type === "damaged-journal");
  const heads = checkChains(journal, run.id(), wasDamaged ? () => {} : report, JOURNAL);
  if (journal.isTorn) report("chain", JOURNAL, "the last line is truncated");
  for (const { writer, count, head } of stated ?? []) {
    const found = heads.get(writer);
    heads.delete(writer);
    if (!found || found.count < count) report("tail", JOURNAL, `the last events of writer ${writer} were cut off`);
    else if (found.count !== count || found.head !== head)
      report("chain", JOURNAL, `the events of writer ${writer} are not those that were closed`);
  }
  if (stated) for (const writer of heads.keys()) report("chain", JOURNAL, `writer ${writer} was not there at closing`);
  for (const { line } of journal.entries)
    if (!("payload" in line) && !("salt" in line)) report("withheld", JOURNAL, `event ${line.writer}:${line.seq}`);
  if (run.document && !run.isNewer) compareWithJournal(run.document, journal.entries, report);
}

// The document follows from the events. Compared are the run, the configuration, the environment, errors and warnings;
// of the usage, what simply adds up.
function compareWithJournal(document, entries, report) {
  const lines = entries.map(({ line }) => line);
  const named = (name) => lines.filter(({ event, payload }) => event === name && isObject(payload)).map(({ payload }) => payload);
  const isWithheld = (name) => lines.some((line) => line.event === name && !("payload" in line));
  const merged = (start, name, field) => Object.assign(Object.create(null), start, ...named(name).map((payload) => payload[field]));
  const [start] = named("run.started");
  if (!isObject(start?.generation) || lines.some(({ event, truncated }) => event === "run.started" && truncated)) return;
  const compare = (pointer, expected, found, source = null) => {
    if (!(source && isWithheld(source)) && !same(expected, found)) report("document", METADATA, `${pointer}: the journal differs`);
  };
  const { status, timestamp_end, duration_seconds, exit_code, estimated, labels, ...rest } = document.generation ?? {};
  const { labels: given, status: _1, timestamp_end: _2, duration_seconds: _3, exit_code: _4, estimated: _5, ...begun } = start.generation;
  compare("/generation", begun, rest);
  compare("/generation/labels", merged(given, "labels.set", "labels"), labels, "labels.set");
  const ended = named("run.ended").at(-1);
  if (ended) {
    const end = { status, timestamp_end, duration_seconds, exit_code };
    compare("/generation", { exit_code: null, ...pick(ended, Object.keys(end)) }, end);
    compare("/generation/estimated", [], estimated);
  } else if (!isWithheld("run.ended")) compare("/generation/status", "interrupted", status);
  const configuration = merged(start.configuration, "config.set", "configuration");
  for (const name of ["model", "provider"]) // the calls fill these in
    if (configuration[name] == null) configuration[name] = document.configuration?.[name];
  compare("/configuration", configuration, document.configuration, "config.set");
  if (document.checksums && !document.checksums.config) report("document", METADATA, "/checksums/config: it is missing");
  const environment = merged(start.environment, "environment.observed", "environment");
  compare("/environment", environment, document.environment, "environment.observed");
  const problems = (name) => lines.filter(({ event, payload }) => event === name && isText(payload?.message))
    .map(({ payload, timestamp }) => ({ type: payload.type, message: payload.message, timestamp }));
  compare("/errors", problems("error.added"), document.errors ?? [], "error.added");
  if (!lines.some(({ event }) => event === "usage.incomplete") && !document.token_usage?.incomplete
      && !document.warnings?.some((warning) => warning?.type === "truncated"))
    compare("/warnings", problems("warning.added"), document.warnings ?? [], "warning.added");
  compareUsage(document, named("model.called"), lines, report);
}

const pick = (object, names) => Object.fromEntries(names.map((name) => [name, object[name]]));

// Only where each call has its own response, and all counts are known: then totals are sums.
function compareUsage(document, calls, lines, report) {
  const isPlain = calls.every(({ response_id, tokens, token_source, observer, parent_id }) =>
    isText(response_id) && token_source === "reported" && !observer && !parent_id
    && Number.isSafeInteger(tokens?.input) && Number.isSafeInteger(tokens?.output));
  const isSimple = !lines.some((line) => ["costs.set", "usage.incomplete"].includes(line.event)
    || (line.event === "model.called" && !("payload" in line)));
  if (!isPlain || !isSimple || !calls.length || new Set(calls.map((call) => call.response_id)).size < calls.length) return;
  const sum = (values) => values.reduce((total, value) => total + value, 0);
  const { costs, token_usage: usage } = document;
  for (const name of ["input", "output"]) {
    const total = sum(calls.map(({ tokens }) => tokens[name]));
    for (const stated of [costs?.[`${name}_tokens`], usage?.[`total_${name}_tokens`]])
      if (stated !== total) report("document", METADATA, `the calls have ${total} tokens of ${name}, the document ${stated}`);
  }
  if (calls.every(({ cost_usd }) => typeof cost_usd === "number")) {
    const total = sum(calls.map(({ cost_usd }) => cost_usd));
    if (!(Math.abs(costs?.total_cost_usd - total) <= 1e-9 * Math.max(1, total)))
      report("document", METADATA, `the calls cost ${total}, the document says ${costs?.total_cost_usd}`);
  }
}

// --- Amendments ---------------------------------------------------------------------------------------------------------

const REMARKS = new Set(["note", "tag", "evaluation", "approval"]);

// The recorded changes: `hashes` of all amendments, whether each of them is only a remark, and `changes` of files by path.
function readAmendments(run, report) {
  const amendments = { hashes: [], remarks: [], changes: new Map(), sealed: run.metadata && digest(run.metadata) };
  const journal = parseLines(run.read(AMENDMENTS));
  if (journal === null) return amendments;
  for (const { line } of journal.entries) {
    amendments.hashes.push(line.hash);
    const { path, old_sha256: old, new_sha256: now } = line.payload ?? {};
    const isChange = isText(path) && isDigest(old) && (isDigest(now) || now === null);
    amendments.remarks.push(!isChange && isObject(line.payload) && REMARKS.has(line.event));
    if (isChange) {
      if (!amendments.changes.has(path)) amendments.changes.set(path, []);
      amendments.changes.get(path).push({ kind: line.event, old, now });
    }
  }
  for (const { old, now } of [...(amendments.changes.get(METADATA) ?? [])].reverse())
    if (now === amendments.sealed) amendments.sealed = old;
  if (run.metadata === null) return amendments;
  const heads = checkChains(journal, "", report, AMENDMENTS, amendments.sealed);
  if (heads.size > 1) report("chain", AMENDMENTS, "amendments of several writers");
  for (const { line } of journal.entries)
    if (!("payload" in line) && !("salt" in line)) report("chain", AMENDMENTS, "the payload of an amendment was taken out");
  if (!journal.entries.length && !journal.damaged.length && !journal.isTorn)
    report("unexpected", AMENDMENTS, "it holds no amendment");
  if (amendments.sealed !== digest(run.metadata)) {
    report("amended", METADATA, "the document was migrated");
    report("missing", METADATA, "the document as it was closed is not in the record");
    run.document = null;
  }
  return amendments;
}

// The digest that a file must have now: that of its closing, or what amendments made of it. Null: it was removed.
function accepted({ changes }, path, sealed) {
  const digests = [sealed];
  for (const { old, now } of changes.get(path) ?? []) if (old === digests.at(-1)) digests.push(now);
  return digests.at(-1);
}

// --- Files --------------------------------------------------------------------------------------------------------------

function checkFiles(run, amendments, report) {
  const data = run.read(LISTING);
  if (data === null) return report("missing", LISTING, "the list of checksums is missing");
  const stated = run.document?.checksums?.output;
  if (stated && stated !== `sha256:${digest(data)}`) report("changed", LISTING, "the list of checksums was changed");
  try {
    run.listing = parseListing(data);
  } catch (error) {
    return report("changed", LISTING, error.message);
  }
  const { files, links, others } = walk(run.directory);
  for (const [path, sealed] of run.listing) checkFile(run, path, sealed, files, links, amendments, report);
  for (const path of files) if (!run.listing.has(path)) report("unexpected", path, "the file was not there at closing");
  for (const path of others) report("unexpected", path, "it is neither a file nor a link");
  if (run.document) {
    const then = new Map((run.document.symlinks ?? []).map(({ path, target }) => [path, target]));
    for (const path of new Set([...then.keys(), ...links.keys()]))
      if (!links.has(path) || then.get(path) !== links.get(path)) report("link", path, "a link was added, removed or points elsewhere");
  }
}

function checkFile(run, path, sealed, files, links, amendments, report) {
  const wanted = accepted(amendments, path, sealed);
  if (!files.has(path)) {
    if (links.has(path) || run.has(path)) return report("link", path, "a file was listed, found something else");
    return wanted === null ? report("withheld", path, "an amendment removed it") : report("missing", path, "the file is missing");
  }
  const found = digest(run.read(path));
  if (found !== wanted) report("changed", path, "the file was changed");
  else if (found !== sealed) checkAmended(run, path, amendments.changes.get(path), report);
}

// A migration of a document can be repeated. Of the files that are listed none is a document, so none can be migrated.
function checkAmended(run, path, changes, report) {
  const first = changes.findLastIndex(({ kind }) => kind !== "migration") + 1;
  const isThere = ({ old }) => lstatSync(join(run.directory, "..", ".runcard", "originals", old), { throwIfNoEntry: false });
  if (!changes.slice(first).every(isThere)) return report("missing", path, "the document from before its migration is not in the store");
  if (changes.some(({ kind }) => kind === "migration")) return report("changed", path, "an amendment calls this a migration, and it is none");
  report("amended", path, "an amendment changed it");
}

// `SHA256SUMS` decides what is trusted: anything unusual in it is an error.
function parseListing(data) {
  const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data);
  const listing = new Map();
  if (text && !text.endsWith("\n")) throw new SyntaxError("the last line has no end");
  for (const line of text.split("\n").slice(0, -1)) {
    const [, escape, hex, name] = /^(\\?)([0-9a-f]{64}) [ *](.+)$/.exec(line.replace(/\r$/, "")) ?? [];
    if (!name) throw new SyntaxError("a line cannot be read");
    const unescaped = escape ? name.replace(/\\([\\nr])/g, (_, letter) => ({ n: "\n", r: "\r" })[letter] ?? "\\") : name;
    const path = unescaped.replace(/^\.\//, "");
    if (path.startsWith("/") || path.split("/").some((part) => ["", ".", ".."].includes(part)))
      throw new SyntaxError("a path leads out of the record");
    if (listing.has(path)) throw new SyntaxError("a path is listed twice");
    listing.set(path, hex);
  }
  return listing;
}

// Everything below a directory. Links are not followed.
function walk(directory, prefix = "", found = { files: new Set(), links: new Map(), others: new Set() }) {
  for (const entry of readdirSync(join(directory, prefix), { withFileTypes: true })) {
    const path = prefix ? `${prefix}/${entry.name}` : entry.name;
    if (NOT_LISTED.has(path)) continue;
    if (entry.isSymbolicLink()) found.links.set(path, readlinkSync(join(directory, path)));
    else if (entry.isDirectory()) walk(directory, path, found);
    else (entry.isFile() ? found.files : found.others).add(path);
  }
  return found;
}

// --- Signatures ---------------------------------------------------------------------------------------------------------

class UnknownAlgorithm extends Error {}

// The signatures of the record, an envelope on each line. Returns those that are right: the fingerprint of the key, and how many
// changes were made after it.
function checkSignatures(run, amendments, report) {
  const signers = [];
  const lines = run.read(SIGNATURES)?.toString("latin1").split("\n") ?? [];
  if (lines.at(-1) === "") lines.pop();
  if (!lines.length) report("signature", SIGNATURES, "there is no signature in it");
  for (const [index, line] of lines.entries()) {
    const wrong = (message, kind = "signature") => report(kind, SIGNATURES, `signature ${index + 1}: ${message}`);
    try {
      signers.push(...checkEnvelope(Buffer.from(line, "latin1"), run, amendments, wrong));
    } catch (error) {
      wrong(error.message);
    }
  }
  return signers;
}

function checkEnvelope(bytes, run, amendments, wrong) {
  const { payloadType, payload, signatures } = parseJson(bytes);
  if (payloadType !== "application/vnd.in-toto+json") throw new Error("what was signed is of another type");
  if (!Array.isArray(signatures) || !signatures.length || signatures.length > 100) throw new Error("it has no signatures, or too many");
  const data = fromBase64(payload);
  const values = signatures.map((signature) => fromBase64(signature?.sig, 65536));
  const statement = readStatement(data);
  const stated = readKeyText(statement.predicate.signer?.public_key);
  const signed = Buffer.concat([Buffer.from(`DSSEv1 ${payloadType.length} ${payloadType} ${data.length} `), data]);
  const right = [];
  for (const value of values)
    try {
      right.push(value.subarray(0, 6).equals(Buffer.from("SSHSIG")) ? checkSsh(value, signed) : checkPlain(value, signed, stated));
    } catch (error) {
      wrong(error.message, error instanceof UnknownAlgorithm ? "limits" : "signature");
    }
  if (!right.length || !isAbout(statement, run, amendments, wrong)) return [];
  const count = amendmentsIn(statement.predicate), changes = amendments.remarks.slice(count).filter((isRemark) => !isRemark).length;
  const fingerprint = (blob) => `SHA256:${createHash("sha256").update(blob).digest("base64").replace(/=+$/, "")}`;
  return right.map(({ blob }) => ({ fingerprint: fingerprint(blob), changes }));
}

// Both alphabets of Base64, and nothing else.
function fromBase64(text, most = Infinity) {
  if (!isText(text)) throw new Error("a field is missing");
  const standard = text.replaceAll("-", "+").replaceAll("_", "/");
  if (standard.length % 4 || !/^[A-Za-z0-9+/]*={0,2}$/.test(standard)) throw new Error("a field is not Base64");
  if (standard.length > (most * 4) / 3) throw new Error("a signature is too long");
  return Buffer.from(standard, "base64");
}

function readStatement(payload) {
  const statement = parseJson(payload);
  if (statement?._type !== "https://in-toto.io/Statement/v1") throw new Error("what was signed is not an in-toto statement");
  if (statement.predicateType !== "urn:runcard:predicate:record:1") throw new Error("the statement is of another type");
  if (!isObject(statement.predicate) || !Array.isArray(statement.subject)) throw new Error("it has no predicate or no subjects");
  if (!statement.subject.every((subject) => isText(subject?.name) && isText(subject.digest?.sha256)))
    throw new Error("a subject has no name or no digest");
  if (new Set(statement.subject.map(({ name }) => name)).size < statement.subject.length)
    throw new Error("the statement names a subject twice");
  return statement;
}

// Whether a statement is about this run as it was closed, with its amendments so far.
function isAbout({ subject, predicate }, run, { hashes, sealed }, wrong) {
  let holds = true;
  const fail = (message, kind) => { holds = false; wrong(message, kind); };
  const subjects = new Map(subject.map(({ name, digest: { sha256 } }) => [name, sha256]));
  if (!sealed || subjects.get(METADATA) !== sealed) {
    fail("it is about another metadata document");
    return false;
  }
  subjects.delete(METADATA);
  const known = new Map([...(run.listing ?? []), [LISTING, run.document?.checksums?.output?.replace(/^sha256:/, "")]]);
  for (const [name, hex] of subjects) if (known.get(name) !== hex) fail(`it names another digest of ${name}`);
  const files = predicate.outputs?.count ?? null;
  if (files !== null && files !== (run.listing?.size ?? 0)) fail("it names another number of files");
  if (predicate.kind !== "run") fail("it is about another kind of record");
  if (predicate.id !== run.id()) fail("it names another id");
  if (!same(predicate.event_chains, run.document?.event_chains)) fail("it names other chains");
  const count = amendmentsIn(predicate), head = predicate.amendments?.head;
  if (count > hashes.length) fail("amendments that were signed are missing", "tail");
  else if (count > 0 && hashes[count - 1] !== head) fail("the amendments are not those that were signed");
  return holds;
}

// How many amendments a statement covers.
function amendmentsIn({ amendments }) {
  return Number.isSafeInteger(amendments?.count) ? Math.max(amendments.count, 0) : 0;
}

function checkPlain(value, data, key) {
  if (value.length !== 64) throw new Error("it is neither an SSH signature nor one of Ed25519");
  if (key.type !== "ssh-ed25519" || !verify(null, data, key.object, value)) throw new Error("the signature is wrong");
  return key;
}

// What may have been stamped: the document as it was closed, or the signatures so far, from the first that names it.
function stampedHeads(run, { sealed }) {
  const heads = new Set(sealed ? [sealed] : []);
  const data = run.read(SIGNATURES) ?? Buffer.alloc(0);
  let isNamed = false;
  for (let start = 0, end; sealed && (end = data.indexOf(10, start) + 1) > 0; start = end) {
    isNamed ||= namesDocument(data.subarray(start, end), sealed);
    if (isNamed) heads.add(digest(data.subarray(0, end)));
  }
  return heads;
}

function namesDocument(line, sealed) {
  try {
    const { subject } = readStatement(fromBase64(parseJson(line).payload));
    return subject.some(({ name, digest: { sha256 } }) => name === METADATA && sha256 === sealed);
  } catch {
    return false;
  }
}

// --- SSH signatures (PROTOCOL.sshsig of OpenSSH) ------------------------------------------------------------------------

const CURVES = {
  nistp256: { crv: "P-256", size: 32, hash: "sha256" },
  nistp384: { crv: "P-384", size: 48, hash: "sha384" },
  nistp521: { crv: "P-521", size: 66, hash: "sha512" },
};

class Reader {
  constructor(data) { this.rest = data; }
  take(count) {
    if (count > this.rest.length) throw new Error("it ends too early");
    const taken = this.rest.subarray(0, count);
    this.rest = this.rest.subarray(count);
    return taken;
  }
  number() { return this.take(4).readUInt32BE(); }
  string() { return this.take(this.number()); }
  text() { return this.string().toString("latin1"); }
  finish() { if (this.rest.length) throw new Error("it has more bytes than it should"); }
}

const string = (data) => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  return Buffer.concat([length, Buffer.from(data)]);
};
const unsigned = (data) => data.subarray(Math.max(0, data.findIndex((byte) => byte !== 0)));
const jwk = (fields) => createPublicKey({ key: fields, format: "jwk" });

function readKeyText(text) {
  const [type, base64] = (text ?? "").split(" ");
  if (!base64) throw new Error("the statement does not name the key of its signer");
  const key = readKey(fromBase64(base64));
  if (key.type !== type) throw new Error("the type of the key is another one");
  return key;
}

function readKey(blob) {
  const reader = new Reader(blob);
  const type = reader.text();
  const plain = type.replace(/^sk-/, "").replace(/@openssh\.com$/, "");
  const key = { type, plain, blob, isHardware: type === `sk-${plain}@openssh.com` };
  if (!key.isHardware && type !== plain) throw new UnknownAlgorithm(`the type ${type} is not known`);
  if (plain === "ssh-ed25519") {
    const x = reader.string();
    if (x.length !== 32) throw new Error("the key has a wrong length");
    key.object = jwk({ kty: "OKP", crv: "Ed25519", x: x.toString("base64url") });
  } else if (plain === "ssh-rsa" && !key.isHardware) {
    const e = unsigned(reader.string()), n = unsigned(reader.string());
    key.object = jwk({ kty: "RSA", n: n.toString("base64url"), e: e.toString("base64url") });
    const bits = key.object.asymmetricKeyDetails.modulusLength;
    if (bits < 2048 || bits > 16384) throw new Error(`an RSA key of ${bits} bits is not accepted`);
  } else {
    const curve = CURVES[plain.replace(/^ecdsa-sha2-/, "")];
    if (!curve || !plain.startsWith("ecdsa-") || (key.isHardware && curve.size !== 32))
      throw new UnknownAlgorithm(`the type ${type} is not known`);
    if (`ecdsa-sha2-${reader.text()}` !== plain) throw new Error("the curve is another one");
    const point = reader.string();
    if (point[0] !== 4 || point.length !== 1 + 2 * curve.size) throw new Error("the point of the key is wrong");
    const [x, y] = [point.subarray(1, 1 + curve.size), point.subarray(1 + curve.size)].map((part) => part.toString("base64url"));
    key.object = jwk({ kty: "EC", crv: curve.crv, x, y });
    key.curve = curve;
  }
  if (key.isHardware) key.application = reader.string();
  reader.finish();
  return key;
}

function checkSsh(value, data) {
  const reader = new Reader(value.subarray(6));
  if (reader.number() !== 1) throw new Error("the version of the SSH signature is not known");
  const key = readKey(reader.string());
  const namespace = reader.text();
  reader.string(); // reserved
  const hash = reader.text(), inner = new Reader(reader.string());
  reader.finish();
  if (!["sha256", "sha512"].includes(hash)) throw new Error(`the hash ${hash} is not supported`);
  const algorithm = inner.text(), signature = inner.string();
  const ending = key.isHardware ? inner.take(5) : Buffer.alloc(0); // flags and counter
  inner.finish();
  if (namespace !== "runcard") throw new Error(`it is a signature for ${namespace}`);
  let covered = Buffer.concat([
    Buffer.from("SSHSIG"), string(namespace), string(""), string(hash), string(createHash(hash).update(data).digest()),
  ]);
  if (key.isHardware) {
    if (algorithm !== key.type || !(ending[0] & 1)) throw new Error("the key was not touched, or signed in another way");
    const sha = (bytes) => createHash("sha256").update(bytes).digest();
    covered = Buffer.concat([sha(key.application), ending, sha(covered)]);
  }
  if (!isRight(key, algorithm, covered, signature)) throw new Error("the signature is wrong");
  return key;
}

function isRight(key, algorithm, data, signature) {
  if (key.type === "ssh-rsa") {
    const hash = { "rsa-sha2-256": "sha256", "rsa-sha2-512": "sha512" }[algorithm];
    if (!hash) throw new UnknownAlgorithm(`the algorithm ${algorithm} is not accepted`);
    const size = key.object.asymmetricKeyDetails.modulusLength / 8;
    return verify(hash, data, key.object, Buffer.concat([Buffer.alloc(Math.max(0, size - signature.length)), signature]));
  }
  if (algorithm !== key.type) throw new UnknownAlgorithm(`the algorithm ${algorithm} is not accepted`);
  if (key.plain === "ssh-ed25519") return verify(null, data, key.object, signature);
  const parts = new Reader(signature);
  const numbers = [unsigned(parts.string()), unsigned(parts.string())];
  parts.finish();
  const { size, hash } = key.curve;
  if (numbers.some((number) => number.length > size)) return false;
  const padded = numbers.map((number) => Buffer.concat([Buffer.alloc(size - number.length), number]));
  return verify(hash, data, { key: key.object, dsaEncoding: "ieee-p1363" }, Buffer.concat(padded));
}

// --- The command --------------------------------------------------------------------------------------------------------

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [directory] = process.argv.slice(2);
  if (!directory || !lstatSync(directory, { throwIfNoEntry: false })?.isDirectory()) {
    console.error("usage: node verify_run.mjs RUN (the directory of a run)");
    process.exit(64);
  }
  const verdict = verifyRun(directory);
  console.log(JSON.stringify(verdict, null, 2));
  const isWarning = verdict.findings.includes("open") || verdict.unsigned_changes > 0;
  process.exit(verdict.findings.some((kind) => BREAKS[kind] && kind !== "open") ? 1 : isWarning ? 2 : 0);
}
