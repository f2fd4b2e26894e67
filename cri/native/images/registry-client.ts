// One registry endpoint and one repository, over HTTP: manifests and blobs. Follows redirects without carrying credentials to
// another origin, waits when told to slow down, and gives up with a Fault that says why.

import type { Call } from "../../../plugins/kit/base/call.ts";
import type { Clock } from "../../../plugins/kit/base/clock.ts";
import { Fault, toFault } from "../../../plugins/kit/base/fault.ts";
import { collect } from "./content-store.ts";
import { mediaTypes } from "./manifest.ts";
import type { Fetch } from "../../../plugins/kit/base/fetch.ts";
import { RegistryAuth } from "./registry-auth.ts";
import type { Endpoint, RegistryCredentials } from "./registry-config.ts";
import { Patience } from "./registry-patience.ts";

export interface RegistryClientOptions {
  readonly endpoint: Endpoint;
  readonly repository: string;
  /** The registry the image is named after; mirrors are told it. */
  readonly registry: string;
  readonly credentials: RegistryCredentials | undefined;
  readonly fetch: Fetch;
  readonly clock: Clock;
}

const tries = 5;
/** Whoever asked retries with a back-off of its own; a registry that cannot be reached is told soon. */
const connectTries = 2;
const maxRedirects = 5;
const maxWaitMs = 60_000;
const manifestTypes = Object.values(mediaTypes).join(", ");

interface Answer {
  readonly status: number;
  readonly body: AsyncIterable<Uint8Array>;
}

export class RegistryClient {
  readonly #options: RegistryClientOptions;
  readonly #auth: RegistryAuth;
  readonly #scope: string;

  constructor(options: RegistryClientOptions) {
    this.#options = options;
    this.#scope = `repository:${options.repository}:pull`;
    const { credentials, fetch, clock } = options;
    this.#auth = new RegistryAuth({ host: options.endpoint.host, credentials, fetch, clock });
  }

  /** The bytes of a manifest by tag or digest. */
  async manifest(reference: string, call: Call): Promise<Buffer> {
    const { body } = await this.#get(`manifests/${reference}`, { accept: manifestTypes }, call);
    return collect(body, `manifest ${reference}`);
  }

  /** A blob's bytes from an offset on; throws `unavailable` when the connection breaks or stalls. */
  async *blob(digest: string, offset: number, call: Call): AsyncGenerator<Uint8Array, void, void> {
    const headers: Record<string, string> = offset > 0 ? { range: `bytes=${offset}-` } : {};
    const { status, body } = await this.#get(`blobs/${digest}`, headers, call);
    // A server that does not know ranges begins anew: what is here already is passed over.
    let skip = status === 206 ? 0 : offset;
    try {
      for await (const chunk of body) {
        const passed = Math.min(skip, chunk.length);
        skip -= passed;
        if (passed < chunk.length) yield passed > 0 ? chunk.subarray(passed) : chunk;
      }
    } catch (error) {
      call.signal.throwIfAborted();
      throw toFault(error, `Cannot download ${digest} from ${this.#where()}`, "unavailable");
    }
  }

  #where(): string {
    return this.#options.endpoint.host;
  }

  #url(path: string): URL {
    const { endpoint, repository, registry } = this.#options;
    const url = new URL(`${endpoint.url}/v2/${repository}/${path}`);
    if (endpoint.isMirror) url.searchParams.set("ns", registry);
    return url;
  }

  /** Retries what may pass (busy, broken, rate limited) and answers one challenge per request. */
  async #get(path: string, headers: Record<string, string>, call: Call): Promise<Answer> {
    const doing = `Cannot get ${path} of "${this.#options.repository}" from ${this.#where()}`;
    let hasAnswered = false;
    for (let attempt = 1; ; attempt++) {
      const patience = new Patience(this.#where(), this.#options.clock, call);
      let response: Response;
      try {
        response = await patience.waitFor(() => this.#follow(this.#url(path), headers, patience.call));
      } catch (error) {
        call.signal.throwIfAborted();
        if (error instanceof Fault && error.code !== "unavailable") throw error;
        if (attempt >= connectTries) throw toFault(withCause(error), doing, "unavailable");
        await this.#options.clock.sleep(backOffMs(attempt), call);
        continue;
      }
      if (response.ok) return { status: response.status, body: patience.body(response) };
      await response.body?.cancel();
      if (response.status === 401 && !hasAnswered) {
        hasAnswered = true;
        await patience.waitFor(() => this.#auth.answer(response, this.#scope, patience.call));
        attempt--;
        continue;
      }
      const fault = refusal(response.status, doing);
      if (fault.code !== "too-many" && fault.code !== "unavailable") throw fault;
      if (attempt >= tries) throw fault;
      await this.#options.clock.sleep(retryAfterMs(response, this.#options.clock) ?? backOffMs(attempt), call);
    }
  }

  async #follow(start: URL, headers: Record<string, string>, call: Call): Promise<Response> {
    let url = start;
    for (let hop = 0; hop <= maxRedirects; hop++) {
      const authorization = url.origin === start.origin ? this.#auth.header() : undefined;
      const sent = authorization ? { ...headers, authorization } : headers;
      const response = await this.#options.fetch(
        new Request(url, { headers: sent, redirect: "manual", signal: call.signal }),
      );
      const location = response.headers.get("location");
      if (response.status < 300 || response.status >= 400 || response.status === 304 || !location) return response;
      await response.body?.cancel();
      const next = new URL(location, url);
      if (!/^https?:$/.test(next.protocol) || (url.protocol === "https:" && next.protocol === "http:")) {
        throw new Fault("forbidden", `Cannot follow ${this.#where()} to "${next.origin}": it is not encrypted`);
      }
      url = next;
    }
    throw new Fault(
      "invalid",
      `Cannot get "${start.pathname}" from ${this.#where()}: more than ${maxRedirects} redirects`,
    );
  }
}

/** `fetch failed` says nothing: the reason lies in its cause. */
function withCause(error: unknown): unknown {
  return error instanceof TypeError && error.cause instanceof Error ? error.cause : error;
}

function refusal(status: number, doing: string): Fault {
  if (status === 401) return new Fault("unauthorized", `${doing}: the registry wants other credentials`);
  if (status === 403) return new Fault("forbidden", `${doing}: the registry forbids it`);
  if (status === 404) return new Fault("not-found", `${doing}: the registry does not have it`);
  if (status === 429) return new Fault("too-many", `${doing}: the registry's rate limit is reached`);
  if (status === 416) return new Fault("invalid", `${doing}: the registry has fewer bytes than it promised`);
  if (status >= 500 || status === 408) return new Fault("unavailable", `${doing}: the registry answered ${status}`);
  return new Fault("invalid", `${doing}: the registry answered ${status}`);
}

const backOffMs = (attempt: number) => Math.min(maxWaitMs, 500 * 2 ** (attempt - 1));

function retryAfterMs(response: Response, clock: Clock): number | undefined {
  const text = response.headers.get("retry-after");
  if (!text) return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - clock.now();
  return Number.isFinite(ms) ? Math.min(maxWaitMs, Math.max(0, ms)) : undefined;
}
