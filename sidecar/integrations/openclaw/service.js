// The watch over the daemon while the gateway runs: it says once when the daemon goes and once when it is back.
import { inOneLine } from "./failures.js";

const EVERY_MS = 30_000;

/** The host's service. Each look also brings the newest plan for flushes. */
export function watchService(plans, { everyMs = EVERY_MS } = {}) {
  let timer;
  let isThere;
  const look = async (logger) => {
    const failure = await plans.refresh().then(() => null, inOneLine);
    const wasThere = isThere;
    isThere = failure === null;
    if (isThere === wasThere) return;
    if (isThere) logger.info("memory: qmd-sidecar answers");
    else logger.warn(`memory: ${failure}`);
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
      isThere = undefined;
    },
  };
}
