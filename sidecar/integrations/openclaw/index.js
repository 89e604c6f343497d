// OpenClaw's memory by the daemon qmd-sidecar: everything that the host asks goes over its socket.
import { registerMemoryCommand } from "./cli.js";
import { Client } from "./client.js";
import { FlushPlans } from "./flush.js";
import { recallSection } from "./prompt.js";
import { memoryRuntime } from "./runtime.js";
import { watchService } from "./service.js";
import { getTool, searchTool } from "./tools.js";

export default {
  id: "qmd-sidecar",
  name: "QMD sidecar",
  description: "Memory search and reading by the local daemon qmd-sidecar, over its Unix socket.",
  /** Called several times in a process, so that nothing is opened here. */
  register(api) {
    // An empty text in the host's settings means that there is none.
    const { socketPath, timeoutMs } = api.pluginConfig ?? {};
    const client = new Client({ socketPath: socketPath || undefined, timeoutMs });
    const plans = new FlushPlans(client);
    const parentOf = parents(api);
    api.registerMemoryCapability({
      deterministicRecallToolName: "memory_search",
      promptBuilder: recallSection,
      flushPlanResolver: plans.resolve,
      runtime: memoryRuntime(client),
    });
    api.registerTool((ctx) => searchTool(client, ctx, parentOf), { names: ["memory_search"] });
    api.registerTool((ctx) => getTool(client, ctx, parentOf), { names: ["memory_get"] });
    api.registerService(watchService(plans));
    api.registerCli(({ program }) => registerMemoryCommand(program, client, () => defaultAgent(api)), {
      descriptors: [{ name: "memory", description: "Search, inspect, and reindex memory files", hasSubcommands: true }],
    });
  },
};

/** The session for which a sub-agent works, where the host knows it. */
function parents(api) {
  return (sessionKey, agentId) => {
    if (!sessionKey?.includes(":subagent:")) return undefined;
    try {
      return api.runtime.agent.session.getSessionEntry({ agentId, sessionKey })?.spawnedBy ?? undefined;
    } catch {
      // Without a parent a sub-agent is denied, which is the safe answer.
      return undefined;
    }
  };
}

/** The agent that the host takes where none is named. */
function defaultAgent({ config }) {
  const { list = [], entries = {} } = config?.agents ?? {};
  const named = [...list, ...Object.entries(entries).map(([id, entry]) => ({ id, ...entry }))];
  return (named.find((agent) => agent.default) ?? named[0])?.id ?? "main";
}
