// `openclaw memory status|search|index`, with the flags and the JSON of the host's own command.
import { inOneLine } from "./failures.js";
import { memoryRuntime } from "./runtime.js";
import { hostScan } from "./status.js";

const print = (text) => process.stdout.write(`${text}\n`);
const printJson = (value) => print(JSON.stringify(value, null, 2));

/** Adds the command to the host's program (commander). `defaultAgent` names the agent of a search without `--agent`. */
export function registerMemoryCommand(program, client, defaultAgent) {
  const memory = program.command("memory").description("Search, inspect, and reindex memory files");
  memory
    .command("status")
    .description("Show memory search index status")
    .option("--agent <id>", "Agent id (default: all configured agents)")
    .option("--json", "Print JSON")
    .option("--deep", "Probe embedding provider availability")
    .option("--index", "Reindex if dirty (implies --deep)")
    .option("--fix", "Accepted for the host's own command; the daemon mends by itself")
    .option("--verbose", "Accepted for the host's own command", false)
    .action(told((options) => status(client, options)));
  memory
    .command("search")
    .description("Search memory files")
    .argument("[query]", "Search query")
    .option("--query <text>", "Search query (alternative to positional argument)")
    .option("--agent <id>", "Agent id (default: default agent)")
    .option("--max-results <n>", "Max results", positive("--max-results"))
    .option("--min-score <n>", "Minimum score", number("--min-score"))
    .option("--json", "Print JSON")
    .action(told((query, options) => search(client, options.query ?? query, options, defaultAgent)));
  memory
    .command("index")
    .description("Reindex memory files")
    .option("--agent <id>", "Agent id (default: all configured agents)")
    .option("--force", "Force full reindex", false)
    .option("--verbose", "Accepted for the host's own command", false)
    .action(told((options) => index(client, options)));
  memory.action(() => memory.outputHelp());
}

/** A failure in one line on standard error, with exit code 1. */
function told(action) {
  return async (...given) => {
    try {
      await action(...given);
    } catch (error) {
      process.stderr.write(`Memory: ${inOneLine(error)}\n`);
      process.exitCode = 1;
    }
  };
}

function number(flag) {
  return (text) => {
    const value = text.trim() === "" ? Number.NaN : Number(text);
    if (!Number.isFinite(value)) throw wrongUse(`${flag} must be a number.`);
    return value;
  };
}

function positive(flag) {
  return (text) => {
    const value = number(flag)(text);
    if (!Number.isInteger(value) || value < 1) throw wrongUse(`${flag} must be a positive integer.`);
    return value;
  };
}

/** What commander reports as a wrong argument; its own class belongs to the host. */
const wrongUse = (message) => Object.assign(new Error(message), { code: "commander.invalidArgument" });

async function agentsOf(client, named) {
  return named ? [named] : (await client.agents()).map(({ id }) => id);
}

async function manager(client, agentId) {
  const { manager: found, error } = await memoryRuntime(client).getMemorySearchManager({ agentId });
  if (!found) throw new Error(error);
  return found;
}

async function status(client, { agent, json, deep, index: reindex }) {
  const rows = [];
  for (const agentId of await agentsOf(client, agent)) {
    rows.push(await statusOf(client, agentId, deep || reindex, reindex));
  }
  if (json) printJson(rows);
  else print(rows.map(statusText).join("\n\n"));
}

async function statusOf(client, agentId, deep, reindex) {
  const found = await manager(client, agentId);
  const embeddingProbe = deep ? await found.probeEmbeddingAvailability() : undefined;
  if (reindex) await found.sync({ reason: "cli" });
  return { agentId, status: found.status(), embeddingProbe, scan: hostScan(await client.status(agentId)) };
}

function probed({ checked, ok }) {
  if (!checked) return "skipped";
  return ok ? "ready" : "unavailable";
}

function statusText({ agentId, status: facts, embeddingProbe, scan }) {
  const lines = [
    `Memory Search (${agentId})`,
    `Engine: ${facts.custom.engine}, ${facts.custom.state} (qmd-sidecar)`,
    facts.fallback && `Instead of: ${facts.fallback.from} (${facts.fallback.reason})`,
    `Provider: ${facts.provider}${facts.requestedProvider ? ` (requested: ${facts.requestedProvider})` : ""}`,
    facts.model && `Model: ${facts.model}`,
    `Sources: ${facts.sources.join(", ")}`,
    facts.extraPaths.length && `Extra paths: ${facts.extraPaths.join(", ")}`,
    `Indexed: ${facts.files}/${scan.totalFiles} files · ${facts.chunks} chunks`,
    `Dirty: ${facts.dirty ? "yes" : "no"}`,
    `Workspace: ${facts.workspaceDir}`,
    embeddingProbe && `Embeddings: ${probed(embeddingProbe)}`,
    embeddingProbe?.error && `Embeddings error: ${embeddingProbe.error}`,
    facts.lastSyncError && `Last sync failed: ${facts.lastSyncError}`,
    ...scan.issues.map((issue) => `Issue: ${issue}`),
  ];
  return lines.filter(Boolean).join("\n");
}

async function search(client, query, { agent, maxResults, minScore, json }, defaultAgent) {
  if (!query?.trim()) throw new Error("Missing search query. Provide a positional query or use --query <text>.");
  const results = await (await manager(client, agent ?? defaultAgent())).search(query, { maxResults, minScore });
  if (json) return printJson({ results });
  if (results.length === 0) return print("No matches.");
  print(results.map(hitText).join("\n\n"));
}

function hitText({ score, path, startLine, endLine, snippet }) {
  return `${score.toFixed(3)} ${path}:${startLine}-${endLine}\n${snippet}`;
}

async function index(client, { agent, force }) {
  for (const agentId of await agentsOf(client, agent)) {
    await (await manager(client, agentId)).sync({ reason: "cli", force });
    print(`Memory index updated (${agentId}).`);
  }
}
