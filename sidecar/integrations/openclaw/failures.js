// What a tool answers where there is no answer, in the daemon's own words. Only the caller's abort is thrown.

/** The search that could not be made: the object that agents are told to pass on to their user. */
export function searchFailure(error) {
  const told = { warning: warningOf(error), action: error.hint || "qmd-sidecar status", error: error.message };
  const outcome = { outcome: "unavailable", disabled: true, unavailable: true, reason: error.code };
  return { results: [], ...outcome, ...told, debug: told };
}

function warningOf(error) {
  if (error.status === undefined) return "Memory search is unavailable: the memory daemon qmd-sidecar does not answer.";
  return "Memory search is unavailable: the memory daemon qmd-sidecar refused the request.";
}

/** The read that could not be made. */
export function readFailure(path, error) {
  return { path, text: "", disabled: true, error: error.message, ...(error.hint ? { action: error.hint } : {}) };
}

/** The daemon's denial, for an agent: about the conversation and the rule, never about what exists. */
export function denialOf({ rule }) {
  return `Memory is not open to this conversation (${rule}).`;
}

/** An error in one line for people, with the next step. */
export function inOneLine(error) {
  return error.hint ? `${error.message} Try: ${error.hint}` : error.message;
}

/** What `work` resolves to, else what `otherwise` makes of its failure. Rejects when the caller gave up. */
export async function orElse(work, otherwise, signal) {
  try {
    return await work();
  } catch (error) {
    signal?.throwIfAborted();
    return otherwise(error);
  }
}
