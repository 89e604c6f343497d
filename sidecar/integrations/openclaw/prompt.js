// The section "Memory Recall" of the system prompt, in the host's words.

const OUTCOMES = "A warning means results are partial or missing and must be surfaced to the user.";

/** The host's `promptBuilder`; no lines for an agent that has neither tool. */
export function recallSection({ availableTools, citationsMode }) {
  const [searches, reads] = ["memory_search", "memory_get"].map((tool) => availableTools.has(tool));
  if (!searches && !reads) return [];
  const about = "Before answering anything about prior work, decisions, dates, people, preferences, or todos";
  const files = "MEMORY.md, USER.md, memory/*.md and the other configured notes";
  const how = searches
    ? `${about}: run memory_search on ${files}${reads ? "; then use memory_get to pull only the needed lines" : ""}.`
    : `${about} that point to a specific source in ${files}: run memory_get to pull only the needed lines.`;
  const cite =
    citationsMode === "off"
      ? "Citations are disabled: do not mention file paths or line numbers in replies unless the user explicitly asks."
      : "Citations: include Source: <path#line> when it helps the user verify memory snippets.";
  return ["## Memory Recall", `${how} ${OUTCOMES} If low confidence after that, say you checked.`, cite, ""];
}
