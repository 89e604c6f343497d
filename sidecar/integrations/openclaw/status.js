// An agent's status as the host knows status: one shape for its own engine, which ours is shown in.

/** The host's status snapshot of what the daemon tells about an agent. */
export function hostStatus(agent) {
  const builtin = agent.engines.builtin ?? {};
  const sources = agent.roots.some(({ kind }) => kind === "session") ? ["memory", "sessions"] : ["memory"];
  const hasVectors = vectorsOf(agent) !== 0;
  return {
    // The only name that the host knows; which engine answers stands in `custom`.
    backend: "builtin",
    provider: builtin.provider ?? (hasVectors ? agent.backend : "none"),
    model: builtin.model ?? undefined,
    requestedProvider: builtin.embedding?.requested,
    files: agent.documents ?? 0,
    chunks: builtin.chunks ?? 0,
    dirty: Boolean(agent.pending),
    lastSyncError: agent.engines[agent.backend]?.lastError?.message,
    workspaceDir: agent.workspace,
    extraPaths: agent.roots.filter(({ kind }) => kind === "extra").map(({ path }) => path),
    sources,
    fts: { enabled: true, available: true },
    vector: {
      enabled: hasVectors,
      available: hasVectors,
      storeAvailable: hasVectors,
      semanticAvailable: hasVectors,
      dims: builtin.dims ?? undefined,
    },
    fallback: agent.fallback && { from: agent.fallback.from, reason: agent.fallback.reason },
    custom: {
      searchMode: hasVectors ? "hybrid" : "fts-only",
      engine: agent.backend,
      state: agent.state,
      qmd: agent.engines.qmd && {
        version: agent.engines.qmd.version,
        vectorsPending: agent.engines.qmd.vectorsPending,
      },
      notices: agent.notices,
    },
  };
}

/** How many vectors the engine that answers has; undefined where only qmd could say. */
function vectorsOf({ backend, engines }) {
  if (backend === "builtin") return engines.builtin?.vectors ?? 0;
  return engines.qmd?.mode === "search" ? 0 : undefined;
}

/** The host's answer to whether texts can be embedded, of a status that was asked for with `deep`. */
export function embeddingProbe({ embedding }, nowMs) {
  // Without an embedding provider keywords search alone, which is no failure.
  if (!embedding) return { ok: true, checked: false };
  const { error, dims } = embedding;
  const checked = dims !== undefined || error !== undefined;
  return { ok: !error, error: error?.message, checked, checkedAtMs: nowMs };
}

/** The files on disk, as the host counts them beside the index. */
export function hostScan(agent) {
  const totalFiles = (agent.documents ?? 0) + (agent.pending?.files ?? 0);
  const issues = agent.notices.map(({ message }) => message);
  return { sources: [{ source: "memory", totalFiles, issues }], totalFiles, issues };
}
