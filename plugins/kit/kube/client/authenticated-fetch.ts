// A fetch that proves who we are, with credentials that may change: a refused request is repeated once with fresh ones, and
// a new client certificate means new connections.

import type { Call } from "../../base/call.ts";
import {
  type HttpClientOptions,
  type HttpFetch,
  httpFetch,
  type UpgradeRequest,
  type UpgradeResult,
} from "../../os/platform/http-client.ts";
import type { Credentials, CredentialSource } from "./credentials.ts";

export class AuthenticatedFetch {
  readonly #options: HttpClientOptions;
  readonly #source: CredentialSource;
  #open: { http: HttpFetch; cert: string | undefined; key: string | undefined } | undefined;
  #isClosed = false;

  constructor(options: HttpClientOptions, source: CredentialSource) {
    this.#options = options;
    this.#source = source;
  }

  async fetch(request: Request): Promise<Response> {
    if (!this.#source.canChange) return this.#send(request);
    // Kept aside in case it has to be sent again.
    const spare = request.clone();
    const response = await this.#send(request);
    if (response.status !== 401) {
      // Frees what the copy holds on to; the answer does not depend on it.
      spare.body?.cancel().catch(() => {});
      return response;
    }
    this.#source.refused();
    await response.body?.cancel();
    return this.#send(spare);
  }

  async upgrade(request: UpgradeRequest, call: Call): Promise<UpgradeResult> {
    const credentials = await this.#source.current(call);
    return this.#connection(credentials).upgrade(
      { ...request, headers: { ...request.headers, ...credentials.headers } },
      call,
    );
  }

  close(): void {
    this.#isClosed = true;
    this.#open?.http.close();
  }

  async #send(request: Request): Promise<Response> {
    const credentials = await this.#source.current({ signal: request.signal });
    for (const [name, value] of Object.entries(credentials.headers)) {
      if (!request.headers.has(name)) request.headers.set(name, value);
    }
    return this.#connection(credentials)(request);
  }

  #connection({ cert, key }: Credentials): HttpFetch {
    const open = this.#open;
    if (open && ((open.cert === cert && open.key === key) || this.#isClosed)) return open.http;
    // Whoever watches over the old connections comes back over the new ones, as who we are now.
    open?.http.close();
    const http = httpFetch({ ...this.#options, cert, key });
    if (this.#isClosed) http.close();
    this.#open = { http, cert, key };
    return http;
  }
}
