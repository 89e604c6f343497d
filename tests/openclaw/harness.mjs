// The plugin without its host: one step a line on standard input, its outcome as one line on standard output.
//
//   node harness.mjs PLUGIN_FOLDER '{"socketPath": ..}'
import path from "node:path";
import readline from "node:readline";
import { pathToFileURL } from "node:url";

const [folder, config] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(path.join(folder, name)));
const { default: plugin } = await load("index.js");
const { Client, sockets } = await load("client.js");
const { FlushPlans, hostPlan } = await load("flush.js");
const { watchService } = await load("service.js");

const plans = new FlushPlans(new Client(JSON.parse(config)));
const parents = {};
const tools = {};
const logged = [];
const logger = { info: (text) => logged.push(`info ${text}`), warn: (text) => logged.push(`warn ${text}`) };
let capability;
plugin.register({
  pluginConfig: JSON.parse(config),
  config: {},
  runtime: { agent: { session: { getSessionEntry: ({ sessionKey }) => parents[sessionKey] } } },
  registerMemoryCapability: (given) => (capability = given),
  registerTool: (factory, { names: [name] }) => (tools[name] = factory),
  registerService: () => {},
  registerCli: () => {},
});

async function manager(agentId) {
  const { manager: found, error } = await capability.runtime.getMemorySearchManager({ agentId });
  if (!found) throw new Error(error);
  return found;
}

async function abandoned(tool, ctx, args) {
  const controller = new AbortController();
  const answer = tools[tool](ctx).execute("1", args, controller.signal);
  controller.abort();
  return answer;
}

const STEPS = {
  tool: async ({ tool, ctx, args }) => (await tools[tool](ctx).execute("1", args)).details,
  shape: ({ shape }) => tools[shape]({}).parameters,
  abandon: ({ abandon, ctx, args }) => abandoned(abandon, ctx, args),
  spawn: ({ spawn, by }) => void (parents[spawn] = { spawnedBy: by }),
  manager: async ({ manager: method, agentId = "main", args = [] }) => (await manager(agentId))[method](...args),
  runtime: async ({ runtime: method, args }) => capability.runtime[method](args),
  resolve: ({ resolve }) => capability.flushPlanResolver(resolve),
  plan: ({ plan, nowMs, window }) => hostPlan(plan, nowMs, window),
  prompt: ({ prompt, citationsMode }) => capability.promptBuilder({ availableTools: new Set(prompt), citationsMode }),
  sockets: ({ sockets: env }) => sockets(env),
  watch: ({ watch }) => watchService(plans, { everyMs: watch }).start({ logger }),
  logged: () => logged,
};

for await (const line of readline.createInterface({ input: process.stdin })) {
  const step = JSON.parse(line);
  const [name] = Object.keys(step);
  let outcome;
  try {
    outcome = { value: (await STEPS[name](step)) ?? null };
  } catch (error) {
    outcome = { thrown: error.message, name: error.name };
  }
  process.stdout.write(`${JSON.stringify(outcome)}\n`);
}
