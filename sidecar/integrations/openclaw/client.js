// The daemon qmd-sidecar over its Unix socket, with Node alone:
//
//   const memory = new Client();
//   const asked = { query: "when does the boat leave?", sessionKey: "agent:main:main" };
//   const { results } = await memory.search("main", asked);
//
// Every call has one deadline for the whole exchange and a connection of its own, so that a daemon that was started
// again is found by the next call. A call that brings no answer throws a `DaemonError`, or the caller's abort.
import fs from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";

const FOLDER = "qmd-sidecar";
const POINTER = "daemon.json";
const SOCKET = "sidecar.sock";
// Far above every reply; what goes on behind it comes from something else than the daemon.
const MAX_BYTES = 64 * 1024 * 1024;

/** Why there is no answer: a stable `code`, a message, the next step in `hint`; `status` where the daemon refused. */
export class DaemonError extends Error {
  constructor(code, message, { hint = "", status, details = [] } = {}) {
    super(message);
    this.name = "DaemonError";
    Object.assign(this, { code, hint, status, details });
  }
}

/** A client of the daemon. Times are in milliseconds. */
export class Client {
  /**
   * @param {{socketPath?: string, timeoutMs?: number, env?: NodeJS.ProcessEnv}} [options] Without `socketPath` the
   *   running daemon of this user is looked for with each call.
   */
  constructor({ socketPath, timeoutMs = 15_000, env = process.env } = {}) {
    Object.assign(this, { socketPath, timeoutMs, env });
  }

  /** `memory_search`; the fields are those of the HTTP body. */
  search(agent, body, options) {
    return this.call("POST", `${agentPath(agent)}/memory_search`, body, options);
  }

  /** `memory_get`; the fields are those of the HTTP body. */
  get(agent, body, options) {
    return this.call("POST", `${agentPath(agent)}/memory_get`, body, options);
  }

  /** Brings an agent's indexes up to date: `force`, `embed`, `wait`. */
  sync(agent, body, options) {
    return this.call("POST", `${agentPath(agent)}/sync`, body, options);
  }

  /** The state of one agent; `deep` tries its embedding providers, too. */
  status(agent, { deep = false, ...options } = {}) {
    return this.call("GET", `${agentPath(agent)}/status${deep ? "?deep=true" : ""}`, undefined, options);
  }

  /** When and with which words an agent's sessions are reminded to write down what matters. */
  flushPlan(agent, options) {
    return this.call("GET", `${agentPath(agent)}/memory_flush/plan`, undefined, options);
  }

  /** The configured agents: `{id, workspace, backend, state}` each. */
  async agents(options) {
    return (await this.call("GET", "/v1/agents", undefined, options)).agents;
  }

  /**
   * One exchange; resolves to the JSON object of the reply.
   * @param {{signal?: AbortSignal, timeoutMs?: number}} [options]
   */
  async call(method, route, body, { signal, timeoutMs = this.timeoutMs } = {}) {
    signal?.throwIfAborted();
    const deadline = AbortSignal.timeout(timeoutMs);
    const ends = signal ? AbortSignal.any([signal, deadline]) : deadline;
    const places = this.socketPath ? [withHome(this.socketPath, this.env)] : sockets(this.env);
    try {
      return read(method, route, await firstAnswer(places, { method, path: route, signal: ends }, body));
    } catch (error) {
      signal?.throwIfAborted();
      if (deadline.aborted) throw new DaemonError("timeout", `no answer within ${timeoutMs / 1000} s`, STATUS_HINT);
      throw error;
    }
  }
}

const STATUS_HINT = { hint: "qmd-sidecar status" };
const ABSENT = { ENOENT: "no socket", ENOTDIR: "no socket", ECONNREFUSED: "nobody listens" };

const agentPath = (agent) => `/v1/agents/${encodeURIComponent(agent.toWellFormed())}`;

/** The answer of the first socket at which somebody listens. */
async function firstAnswer(places, options, body) {
  let absence;
  for (const socketPath of places) {
    try {
      return await exchange({ ...options, socketPath }, body);
    } catch (error) {
      if (error.code in ABSENT) {
        // The first place is the one where a person expects it.
        absence ??= notRunning(ABSENT[error.code], socketPath);
      } else if (error.code === "EACCES" || error.code === "EPERM") {
        throw new DaemonError("socket_denied", `permission denied at ${socketPath}`, {
          hint: "run this as the user who runs the daemon",
        });
      } else {
        throw new DaemonError("bad_reply", `the connection broke before the reply (${error.code ?? error.name})`, {
          hint: `see which process listens at ${socketPath}`,
        });
      }
    }
  }
  throw absence;
}

function notRunning(why, socketPath) {
  return new DaemonError("not_running", `qmd-sidecar is not running (${why} at ${socketPath}).`, {
    hint: "qmd-sidecar run",
  });
}

function exchange(options, body) {
  const content = body === undefined ? undefined : JSON.stringify(body);
  const headers = { accept: "application/json" };
  if (content !== undefined) headers["content-type"] = "application/json";
  return new Promise((resolve, reject) => {
    // `agent: false` is a connection of its own: one that is kept would outlive the daemon at its other end.
    const request = http.request({ ...options, headers, agent: false }, (response) => {
      whole(response).then((text) => resolve({ status: response.statusCode, text }), reject);
    });
    request.on("error", reject);
    request.end(content);
  });
}

async function whole(response) {
  const parts = [];
  let length = 0;
  for await (const part of response) {
    length += part.length;
    if (length > MAX_BYTES) throw Object.assign(new Error(), { code: `more than ${MAX_BYTES} bytes` });
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}

function read(method, route, { status, text }) {
  const reply = parsed(text);
  if (reply === null || typeof reply !== "object" || Array.isArray(reply)) {
    const message = `the reply to ${method} ${route} (HTTP ${status}) is not a JSON object`;
    throw new DaemonError("bad_reply", message, STATUS_HINT);
  }
  if (status < 400) return reply;
  const { code = `http_${status}`, message = `HTTP ${status}`, hint, details } = reply.error ?? {};
  throw new DaemonError(code, message, { hint, status, details });
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * Where the daemon of this user may listen, best first; the command line looks in the same places.
 * A named state folder means the daemon of that folder and no other.
 * @param {NodeJS.ProcessEnv} env
 * @returns {string[]} never empty
 */
export function sockets(env = process.env) {
  if (env.SIDECAR_SOCKET) return [withHome(env.SIDECAR_SOCKET, env)];
  const named = env.SIDECAR_STATE_DIR ? withHome(env.SIDECAR_STATE_DIR, env) : undefined;
  const state = named ?? stateFolder(env);
  const runtime = path.isAbsolute(env.XDG_RUNTIME_DIR ?? "") ? path.join(env.XDG_RUNTIME_DIR, FOLDER) : undefined;
  const meeting = runtime ?? path.join(env.TMPDIR || "/tmp", `${FOLDER}-${process.getuid()}`);
  const folders = [...(runtime ? [runtime] : []), path.join(state, "run")];
  const pointers = [...new Set([...folders, meeting])].filter(isOurs).map(pointer).filter(Boolean);
  const isWanted = ({ stateDir }) => named === undefined || path.resolve(stateDir) === path.resolve(named);
  const wanted = pointers.filter(isWanted).map(({ socket }) => socket);
  const strange = new Set(pointers.map(({ socket }) => socket).filter((socket) => !wanted.includes(socket)));
  const [first, ...others] = folders.map((folder) => path.join(folder, SOCKET));
  const found = named === undefined ? [first, ...wanted, ...others] : [...wanted, first, ...others];
  const places = [...new Set(found)].filter((place) => !strange.has(place));
  return places.length ? places : [others.at(-1) ?? first];
}

function stateFolder(env) {
  const used = configFiles(env).find(isFile);
  if (used && path.basename(used) === "openclaw.json") return path.join(path.dirname(path.resolve(used)), FOLDER);
  return path.join(baseFolder(env, "XDG_STATE_HOME", ".local/state"), FOLDER);
}

/** The files that may hold the daemon's configuration, best first. */
function configFiles(env) {
  const named = [env.SIDECAR_CONFIG, env.OPENCLAW_CONFIG_PATH].filter(Boolean).map((file) => withHome(file, env));
  const ours = path.join(baseFolder(env, "XDG_CONFIG_HOME", ".config"), FOLDER, "config.json5");
  return [...named, ours, path.join(home(env), ".openclaw", "openclaw.json")];
}

/** An XDG base folder. The specification says that a relative value is to be ignored. */
function baseFolder(env, variable, usual) {
  return path.isAbsolute(env[variable] ?? "") ? env[variable] : path.join(home(env), usual);
}

function isFile(file) {
  try {
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

/** Whether a folder is one of this user's and no link: in /tmp anybody may have laid it. */
function isOurs(folder) {
  try {
    const info = fs.lstatSync(folder);
    return info.isDirectory() && info.uid === process.getuid();
  } catch {
    return false;
  }
}

/** The socket and the state folder that a running daemon wrote down; null for anything unreadable. */
function pointer(folder) {
  try {
    const { socket, stateDir } = JSON.parse(fs.readFileSync(path.join(folder, POINTER), "utf8"));
    return typeof socket === "string" && typeof stateDir === "string" ? { socket, stateDir } : null;
  } catch {
    return null;
  }
}

const home = (env) => env.HOME || os.homedir();

const withHome = (place, env) => (/^~(?=\/|$)/.test(place) ? path.join(home(env), place.slice(1)) : place);
