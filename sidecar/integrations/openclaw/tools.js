// The agent's tools `memory_search` and `memory_get`, with the names, schemas and result fields of the host's own.
import { denialOf, orElse, readFailure, searchFailure } from "./failures.js";

const MOST_RESULTS = 50;
/** A channel is kept for the daemon's log only, which takes so much. */
const MOST_CHANNEL_CHARS = 200;
/** The daemon ends a search a little before we stop listening: a partial answer is better than none. */
const GRACE_MS = 500;

const SEARCH_CORPORA = ["memory", "wiki", "all", "sessions"];
const GET_CORPORA = ["memory", "wiki", "all"];
const position = { type: "integer", minimum: 1 };

const OUTCOMES = `Corpus outcomes cover each requested corpus; a corpus warning means results are partial and must be \
surfaced to the user.`;
const SEARCH_TEXT = `Mandatory recall step: search MEMORY.md, USER.md, the notes under memory/ and what else is \
configured before answering questions about prior work, decisions, dates, people, preferences, or todos. \
\`corpus=memory\` searches notes only, \`corpus=sessions\` past conversations only. ${OUTCOMES} \
If response has disabled=true or stale=true, or a warning, tell the user and include the warning/action guidance.`;
const GET_TEXT = `Safe exact excerpt read of a path or citation that memory_search returned, or of MEMORY.md, USER.md \
and memory/*.md. Defaults to a bounded excerpt when lines are omitted and includes truncation/continuation info when \
more content exists. status=ok means the requested excerpt was read; status=not_found means every requested available \
corpus missed. ${OUTCOMES}`;

export const SEARCH_SCHEMA = {
  type: "object",
  properties: {
    query: { type: "string" },
    maxResults: position,
    minScore: { type: "number" },
    corpus: { type: "string", enum: SEARCH_CORPORA },
  },
  required: ["query"],
  additionalProperties: false,
};

export const GET_SCHEMA = {
  type: "object",
  properties: {
    path: { type: "string" },
    from: position,
    lines: position,
    corpus: { type: "string", enum: GET_CORPORA },
  },
  required: ["path"],
  additionalProperties: false,
};

/** `memory_search` for one turn. `ctx` is what the host knows of the turn; `parentOf` finds a sub-agent's parent. */
export function searchTool(client, ctx, parentOf) {
  return {
    name: "memory_search",
    label: "Memory Search",
    description: SEARCH_TEXT,
    parameters: SEARCH_SCHEMA,
    execute: async (_callId, given, signal) => asResult(await search(client, ctx, parentOf, given ?? {}, signal)),
  };
}

/** `memory_get` for one turn. */
export function getTool(client, ctx, parentOf) {
  return {
    name: "memory_get",
    label: "Memory Get",
    description: GET_TEXT,
    parameters: GET_SCHEMA,
    execute: async (_callId, given, signal) => asResult(await get(client, ctx, parentOf, given ?? {}, signal)),
  };
}

const asResult = (details) => ({ content: [{ type: "text", text: JSON.stringify(details, null, 2) }], details });

async function search(client, ctx, parentOf, given, signal) {
  const wrong = searchFault(given);
  if (wrong) return { results: [], error: wrong, action: "Correct the arguments and call memory_search again." };
  if (given.corpus === "wiki") return { results: [], ...WITHOUT_WIKI };
  const body = {
    ...readerOf(ctx, parentOf),
    // Half a character, where a model was cut off, is no JSON that the daemon reads.
    query: given.query.toWellFormed(),
    corpus: given.corpus ?? "all",
    ...(given.maxResults === undefined ? {} : { maxResults: Math.min(given.maxResults, MOST_RESULTS) }),
    ...(given.minScore === undefined ? {} : { minScore: Math.min(1, Math.max(0, given.minScore)) }),
    timeoutMs: Math.max(1, client.timeoutMs - GRACE_MS),
  };
  const told = await orElse(() => client.search(ctx.agentId, body, { signal }), searchFailure, signal);
  const words = searchWords(told);
  return { ...told, ...words, ...corpora({ ...told, ...words }, given.corpus) };
}

/** What an agent needs to hear about a list that is not all there is. */
function searchWords({ outcome, denied, notices = [] }) {
  if (denied) return { warning: denialOf(denied), action: "Tell the user; do not ask again in this conversation." };
  if (outcome !== "partial") return {};
  const why = notices.map(({ message }) => message).join("; ");
  const warning = `The search was cut short, so results are partial${why ? `: ${why}` : ""}.`;
  return { warning, action: "Retry memory_search." };
}

const WIKI_ABSENT = { corpus: "wiki", outcome: "not-registered" };
const WITHOUT_WIKI = {
  corpora: [WIKI_ABSENT],
  warning: "Wiki corpus is not registered; results do not cover that requested corpus.",
};

function corpora({ disabled, denied, error, warning }, asked) {
  const isClosed = disabled || denied;
  const outcome = isClosed ? { outcome: "unavailable", error: error ?? warning } : { outcome: "ok" };
  const memory = { corpus: "memory", ...outcome };
  return { corpora: asked === "all" ? [memory, WIKI_ABSENT] : [memory] };
}

async function get(client, ctx, parentOf, given, signal) {
  const { path, from, lines } = given;
  const wrong = getFault(given);
  if (wrong) return { path: typeof path === "string" ? path : "", text: "", error: wrong };
  if (given.corpus === "wiki") return { path, text: "", ...WITHOUT_WIKI };
  const body = { ...readerOf(ctx, parentOf), path, from, lines };
  const read = () => client.get(ctx.agentId, body, { signal });
  const told = await orElse(read, (error) => readFailure(path, error), signal);
  return { ...told, ...readOutcome(told) };
}

/** Whether an excerpt was read, in the host's words; the daemon gives no line for a file that is not there. */
export function readOutcome({ denied, disabled, from, media }) {
  if (denied) return { error: denialOf(denied) };
  if (disabled) return {};
  return { status: from === undefined && !media ? "not_found" : "ok" };
}

/** Who asks, as the daemon decides by it. */
function readerOf({ sessionKey, agentId, sandboxed, senderIsOwner, messageChannel }, parentOf) {
  const caller = { sandboxed, owner: senderIsOwner, channel: messageChannel?.slice(0, MOST_CHANNEL_CHARS) };
  return { sessionKey, parentSessionKey: parentOf(sessionKey, agentId), caller };
}

// The host does not hold a call to its schema when it comes through `tools.invoke`.

function searchFault({ query, maxResults, minScore, corpus }) {
  if (typeof query !== "string" || !query.trim()) return "query must be a text with at least one word";
  if (minScore !== undefined && !Number.isFinite(minScore)) return "minScore must be a number";
  return positionFault({ maxResults }) ?? corpusFault(corpus, SEARCH_CORPORA);
}

function getFault({ path, from, lines, corpus }) {
  if (typeof path !== "string" || !path.trim()) return "path must be a text";
  return positionFault({ from, lines }) ?? corpusFault(corpus, GET_CORPORA);
}

function positionFault(named) {
  const isWrong = (value) => value !== undefined && !(Number.isSafeInteger(value) && value >= 1);
  const wrong = Object.keys(named).find((name) => isWrong(named[name]));
  return wrong && `${wrong} must be a whole number from 1`;
}

function corpusFault(corpus, known) {
  return corpus === undefined || known.includes(corpus) ? undefined : `corpus must be one of ${known.join(", ")}`;
}
