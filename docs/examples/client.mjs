// Ask the daemon over its socket, with Node alone: node client.mjs SOCKET QUESTION
import http from "node:http";

const [, , socketPath, query] = process.argv;
if (!query) {
  console.error("usage: node client.mjs SOCKET QUESTION");
  process.exit(1);
}

const post = (route, body) =>
  new Promise((resolve, reject) => {
    const options = { socketPath, path: `/v1/agents/${route}`, method: "POST", timeout: 20_000 };
    const request = http.request(options, async (response) => {
      const parts = await response.toArray();
      resolve(JSON.parse(Buffer.concat(parts).toString()));
    });
    request.on("timeout", () => request.destroy(new Error("no answer in time")));
    request.on("error", reject);
    request.end(JSON.stringify(body));
  });

const found = await post("main/memory_search", { query, sessionKey: "agent:main:main" });
for (const { path, startLine } of found.results) {
  console.log(`${path}:${startLine} by ${found.backend}`);
  const note = await post("main/memory_get", { path, from: startLine, lines: 1, sessionKey: "agent:main:main" });
  console.log(note.text);
}
const { outcome, denied } = await post("main/memory_search", { query, sessionKey: "agent:main:slack:channel:general" });
console.log(outcome, "by", denied.rule);
const { error } = await post("mian/memory_search", { query });
console.log(error.code, "-", error.hint);
