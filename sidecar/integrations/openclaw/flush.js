// The flush before a compaction. The host decides and runs it; when, with which words and into which note is the
// daemon's to say. The host wants its plan at once, so the last one that the daemon told is kept, and each use of it
// asks for the next.

const OPEN_DAY = "YYYY-MM-DD";
/** What the host itself leaves a prompt at least. */
const LEAST_PROMPT_TOKENS = 8_000;

/** The plan of the agent that the host's plans are about: it names none, and the daemon's first is its main one. */
export class FlushPlans {
  #plan = null;
  #asking = null;

  constructor(client) {
    this.client = client;
  }

  /** Asks the daemon for its plan; rejects, and keeps the last one, where it does not answer. */
  refresh() {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = null;
    });
    return this.#asking;
  }

  async #ask() {
    const [agent] = await this.client.agents();
    this.#plan = agent ? await this.client.flushPlan(agent.id) : null;
  }

  /** The host's `flushPlanResolver`: null, which is no flush, where flushes are off or the daemon was never there. */
  resolve = ({ nowMs = Date.now(), contextWindowTokens } = {}) => {
    // The service tells of a daemon that does not answer.
    this.refresh().catch(() => {});
    return this.#plan?.enabled ? hostPlan(this.#plan, nowMs, contextWindowTokens) : null;
  };
}

/** The daemon's plan as the host takes it. */
export function hostPlan(plan, nowMs, contextWindowTokens) {
  const day = dayOf(nowMs, plan.timezone);
  const dated = (text) => text.replaceAll(OPEN_DAY, day);
  return {
    ...thresholds(plan, contextWindowTokens),
    forceFlushTranscriptBytes: plan.forceFlushTranscriptBytes,
    systemPrompt: dated(plan.systemPrompt),
    prompt: dated(plan.prompt),
    relativePath: dated(plan.targetFile),
  };
}

function thresholds({ reserveTokensFloor, softThresholdTokens }, window) {
  if (!(window > 0)) return { reserveTokensFloor, softThresholdTokens };
  // The host compacts by this reserve, too: one that fills a small window would leave it no room for a prompt.
  const room = window - Math.min(LEAST_PROMPT_TOKENS, Math.floor(window / 2));
  const isTooSmall = window <= reserveTokensFloor + softThresholdTokens;
  return {
    reserveTokensFloor: Math.min(reserveTokensFloor, room),
    // A threshold of zero is one that the host never goes by.
    softThresholdTokens: isTooSmall ? window : softThresholdTokens,
  };
}

function dayOf(nowMs, timeZone) {
  // The Swedish short date is the ISO one.
  return new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short" }).format(nowMs);
}
