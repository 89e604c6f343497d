// Every question by OpenClaw's tool and straight over the socket, in turn.
//
//   node plugin.mjs PLUGIN_FOLDER SOCKET < questions.json
import http from "node:http";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [folder, socketPath] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(path.join(folder, name)));
const { Client } = await load("client.js");
const { searchTool } = await load("tools.js");

const client = new Client({ socketPath });
const tool = searchTool(client, { agentId: "main", sessionKey: "agent:main:main" }, () => undefined);
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

const bare = (query) =>
  new Promise((resolve, reject) => {
    const body = JSON.stringify({ query, sessionKey: "agent:main:main" });
    const options = { socketPath, agent, method: "POST", path: "/v1/agents/main/memory_search" };
    const request = http.request(options, async (response) => {
      resolve(JSON.parse(Buffer.concat(await response.toArray())));
    });
    request.on("error", reject);
    request.end(body);
  });
const WAYS = { tool: async (query) => (await tool.execute("1", { query })).details, socket: bare };

async function timed(ask, question) {
  const started = performance.now();
  const { results } = await ask(question);
  return { took: performance.now() - started, found: results.length };
}

const questions = JSON.parse(Buffer.concat(await process.stdin.toArray()));
const times = { tool: [], socket: [] };
const found = { tool: 0, socket: 0 };
for (const [number, question] of questions.entries()) {
  const names = number % 2 ? ["tool", "socket"] : ["socket", "tool"];
  for (const name of names) {
    const answer = await timed(WAYS[name], question);
    times[name].push(answer.took);
    found[name] += answer.found;
  }
}
agent.destroy();
process.stdout.write(JSON.stringify({ times, found }));
