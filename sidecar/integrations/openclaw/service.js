// The watch over the daemon while the gateway runs: it says once when the daemon goes and once when it is back.
import { inOneLine } from "./failures.js";

const EVERY_MS = 30_000;

/** The host's service. Each look also brings the newest plan for flushes. */
export function watchService(plans, { everyMs = EVERY_MS } = {}) {
  let timer;
  let last;
  const look = async (logger) => {
    const told = await plans.refresh().then(() => "", inOneLine);
    if (told === last) return;
    if (told) logger.warn(`memory: ${told}`);
    else logger.info("memory: qmd-sidecar answers");
    last = told;
  };
  return {
    id: "qmd-sidecar-watch",
    start({ logger }) {
      // Not waited for: a gateway must start without the daemon, too.
      look(logger);
      timer = setInterval(look, everyMs, logger);
      timer.unref();
    },
    stop() {
      clearInterval(timer);
      last = undefined;
    },
  };
}
