// @ts-check
// Talking to the server: JSON in, JSON out, one kind of failure.
import { signal } from "./ui.js";

const KEPT = "polyvox.token";

/** What went wrong, in the server's own words: `message`, and `hint`: what to do. */
export class Failure extends Error {
  constructor(status, error) {
    super(error.message || "Something went wrong.");
    this.status = status;
    this.code = error.code || "";
    this.hint = error.hint || "";
    this.param = error.param || "";
  }
}

const AWAY = {
  code: "offline", message: "The server cannot be reached.", hint: "Check that Polyvox is running, then try it again."
};

/** Whether a failure may be over in a moment. */
export const isTransient = ({ status }) => status === 0 || status === 429 || status >= 500;

/** The failure of the last request, if the server could not be reached. */
export const unreachable = signal(null);

/** Whether the server asked for a token that we do not have. */
export const locked = signal(false);

export function unlock(token) {
  localStorage.setItem(KEPT, token.trim());
  locked.value = false;
}

export function authorization() {
  const token = localStorage.getItem(KEPT);
  return token ? { Authorization: `Bearer ${token}` } : {};
}

/**
 * A request to the server; the raw response if it went well, else a Failure.
 * @param {string} method
 * @param {string} path
 * @param {{ body?: any, signal?: AbortSignal, headers?: Record<string, string> }} options
 */
export async function request(method, path, { body, signal: abort, headers } = {}) {
  let response;
  try {
    response = await fetch(path, {
      method,
      signal: abort,
      headers: {
        ...authorization(), ...(body === undefined ? {} : { "Content-Type": "application/json" }), ...headers
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    unreachable.value = new Failure(0, AWAY);
    throw unreachable.value;
  }
  unreachable.value = null;
  if (response.ok) return response;
  if (response.status === 401) locked.value = true;
  const answer = await response.json().catch(() => ({}));
  throw new Failure(response.status, answer.error || { message: `The server answered ${response.status}.` });
}

async function json(method, path, body, options) {
  const response = await request(method, path, { ...options, body });
  return response.status === 204 ? null : response.json();
}

/** Save a file of the server's under the name it gives, or else `otherwise`; `ours`: under ours in any case. */
export async function download(path, otherwise, ours = false) {
  const response = await request("GET", path);
  const named = ours ? null : /filename="([^"]+)"/.exec(response.headers.get("content-disposition") ?? "");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = named?.[1] ?? otherwise;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** @type {import("./types").Api} */
export const api = {
  get: (path, options) => json("GET", path, undefined, options),
  post: (path, body = {}, options) => json("POST", path, body, options),
  patch: (path, body, options) => json("PATCH", path, body, options),
  put: (path, body, options) => json("PUT", path, body, options),
  del: (path, options) => json("DELETE", path, undefined, options),
};
