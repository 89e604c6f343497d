// Ask the daemon through the one file client.js: node library.mjs QUESTION
import { Client } from "../../sidecar/integrations/openclaw/client.js";

const memory = new Client({ timeoutMs: 20_000 });
const query = process.argv[2];

const found = await memory.search("main", { query, sessionKey: "agent:main:main" });
for (const { path, startLine } of found.results) {
  console.log(`${path}:${startLine} by ${found.backend}`);
  const note = await memory.get("main", { path: `${path}#L${startLine}`, sessionKey: "agent:main:main" });
  console.log(note.text);
}
const { outcome, denied } = await memory.search("main", { query, sessionKey: "agent:main:slack:channel:general" });
console.log(outcome, "by", denied.rule);
try {
  await memory.search("mian", { query });
} catch (error) {
  console.log(error.code, "-", error.hint);
}
