// Compare verify_run.mjs with the published verdicts: node run_vectors.mjs [FOLDER OF THE VECTORS]
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { verifyRun } from "./verify_run.mjs";

const folder = process.argv[2] ?? fileURLToPath(new URL("../../vectors", import.meta.url));
const { vectors } = JSON.parse(readFileSync(join(folder, "manifest.json"), "utf8"));
const runs = vectors.filter(({ kind }) => kind === "run");
const scratch = mkdtempSync(join(tmpdir(), "vectors-"));
let failed = 0;
for (const vector of runs) {
  const record = join(scratch, vector.path);
  const [name] = vector.path.split("/");
  cpSync(join(folder, "records", name), join(scratch, name), { recursive: true }); // with what lies beside the record
  for (const part of vector.make ?? [])
    if ("link" in part) symlinkSync(part.target, join(record, part.link));
    else writeFileSync(join(record, part.file), part.content);
  const { intact, complete, signed, timestamped, findings, details } = verifyRun(record);
  // Who a key or an authority is, is not checked, and `limits` depends on the verifier.
  const found = { intact, complete, signed, timestamped, findings: findings.filter((kind) => kind !== "limits") };
  const wanted = {
    intact: vector.intact, complete: vector.complete, signed: vector.signed_without_signers ?? vector.signed, timestamped: vector.timestamped,
    findings: vector.findings.filter((kind) => !["signer", "authority"].includes(kind)),
  };
  if (JSON.stringify(found) !== JSON.stringify(wanted)) {
    failed += 1;
    console.log(`${vector.name} (${vector.done}): expected ${JSON.stringify(wanted)}, found ${JSON.stringify({ ...found, details })}`);
  }
}
rmSync(scratch, { recursive: true });
console.log(`verify_run.mjs: ${runs.length - failed} of ${runs.length} verdicts are as expected`);
process.exit(failed ? 1 : 0);
