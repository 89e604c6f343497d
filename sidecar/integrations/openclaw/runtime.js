// What the host itself asks of its memory: searches of the operator, status, the files of its prompt.
import { denialOf, inOneLine, orElse } from "./failures.js";
import { embeddingProbe, hostStatus } from "./status.js";
import { readOutcome } from "./tools.js";

const MOST_RESULTS = 50;
const SYNC_MS = 600_000;
const DEEP_MS = 20_000;
/** The files whose text the host puts into prompts; the agent writes them, its owner may. */
const CURATED = new Set(["MEMORY.md", "USER.md"]);

/** The host's key of nobody's session is the operator's, who may read everything. */
export const operatorKey = (agentId) => `agent:${agentId}:cli:direct:openclaw`;

/** The `runtime` of the memory capability. */
export function memoryRuntime(client) {
  return {
    async getMemorySearchManager({ agentId }) {
      try {
        return { manager: await openManager(client, agentId) };
      } catch (error) {
        return { manager: null, error: inOneLine(error) };
      }
    },
    // The host would give advice on the keys of its own providers.
    resolveMemoryBackendConfig: () => null,
    async classifyWorkspaceMemoryPaths({ relativePaths }) {
      const classOf = (relativePath) => (CURATED.has(relativePath) ? "agent" : "untrusted");
      return relativePaths.map((relativePath) => ({ relativePath, originClass: classOf(relativePath) }));
    },
    authorizeSearchHits: (asked) => authorized(client, asked),
  };
}

/** The hits that a session may read, by the daemon's own word: it is asked to read the first line of each. */
async function authorized(client, { agentId, requesterSessionKey, sandboxed, hits }) {
  const who = { sessionKey: requesterSessionKey, caller: { sandboxed: Boolean(sandboxed) } };
  const isReadable = async ({ path, startLine }) => {
    const told = await orElse(() => client.get(agentId, { ...who, path, from: startLine, lines: 1 }), () => null);
    return told !== null && readOutcome(told).status === "ok";
  };
  const readable = await Promise.all(hits.map(isReadable));
  return hits.filter((_hit, at) => readable[at]);
}

async function openManager(client, agentId) {
  let agent = await client.status(agentId);
  const refresh = async (options) => {
    agent = await client.status(agentId, options);
    return agent;
  };
  const probeVectors = async () => hostStatus(await refresh()).vector.available;
  return {
    search: (query, options) => search(client, agentId, query, options ?? {}),
    readFile: (asked) => readFile(client, agentId, asked),
    // The host does not wait for a status, so it gets the last one.
    status: () => hostStatus(agent),
    probeEmbeddingAvailability: async () =>
      embeddingProbe(await refresh({ deep: true, timeoutMs: DEEP_MS }), Date.now()),
    probeVectorAvailability: probeVectors,
    probeVectorStoreAvailability: probeVectors,
    async sync({ reason, force = false } = {}) {
      await sync(client, agentId, { force, wait: reason === "cli" });
      await refresh();
    },
    // One connection a call: there is nothing to close.
    async close() {},
  };
}

async function search(client, agentId, query, { maxResults, minScore, sessionKey, sources, signal, onDebug }) {
  const body = {
    query,
    sessionKey: sessionKey ?? operatorKey(agentId),
    corpus: sources?.length === 1 ? sources[0] : "all",
    ...(maxResults === undefined ? {} : { maxResults: Math.min(Math.max(1, Math.floor(maxResults)), MOST_RESULTS) }),
    ...(minScore === undefined ? {} : { minScore: Math.min(1, Math.max(0, minScore)) }),
  };
  const reply = await client.search(agentId, body, { signal });
  // The host takes a list alone, and an empty one would say that nothing was found.
  if (reply.denied) throw new Error(denialOf(reply.denied));
  if (reply.disabled) throw new Error(inOneLine({ message: reply.error, hint: reply.action }));
  const { backend, mode: effectiveMode, tookMs: searchMs } = reply;
  onDebug?.({ backend, effectiveMode, fallback: reply.fallback?.reason, searchMs });
  return reply.results.map(hostHit);
}

/** A result without what the host takes for something else under the same name. */
function hostHit({ provenance, corpus: _corpus, ...hit }) {
  return { ...hit, originClass: provenance.trusted && hit.source === "memory" ? "agent" : "untrusted" };
}

async function readFile(client, agentId, { relPath, from, lines }) {
  const told = await client.get(agentId, { path: relPath, from, lines, sessionKey: operatorKey(agentId) });
  const { status, error } = readOutcome(told);
  if (status === undefined) throw new Error(error ?? told.error);
  return { ...told, status };
}

/** Brings the indexes up to date. Rejects with the reasons where no engine could be. */
export async function sync(client, agentId, body) {
  const { queued, reports, notices = [] } = await client.sync(agentId, body, { timeoutMs: SYNC_MS });
  if (queued || reports.length || !notices.length) return;
  throw new Error(notices.map(({ message, action }) => inOneLine({ message, hint: action })).join(" "));
}
