// An API server in this process for tests: memory store, no authentication, everything allowed, unless told otherwise.

import { type ApiServer, type ApiServerOptions, createApiServer } from "../../control/api/server.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import { noLog } from "../../plugins/kit/base/log.ts";
import { serve } from "../../plugins/kit/os/platform/http-server.ts";
import type { Store } from "../../plugins/kit/contracts/store.ts";
import { memoryStore } from "../../plugins/store/memory.ts";

export interface TestApi {
  readonly server: ApiServer;
  readonly store: Store;
  /** `GET /path`, with a JSON body where one is given. */
  ask(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answered>;
  close(): Promise<void>;
}

interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Json;
  readonly text: string;
}

/** Whatever JSON came back; tests reach into it freely. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Json = any;

export const admin = { name: "system:admin", groups: ["system:masters", "system:authenticated"] };

export async function startApi(options: Partial<ApiServerOptions> = {}): Promise<TestApi> {
  const store = options.store ?? memoryStore();
  const server = await createApiServer({
    clock: systemClock,
    log: noLog,
    authenticators: [],
    authorizers: [],
    admission: [],
    ...options,
    store,
  });
  const fetch = server.fetchAs(admin);
  return {
    server,
    store,
    async ask(method, path, body, headers = {}) {
      const init: RequestInit = { method, headers };
      if (body !== undefined) {
        init.body = typeof body === "string" ? body : JSON.stringify(body);
        init.headers = { "content-type": "application/json", ...headers };
      }
      const response = await fetch(new Request(`http://api${path}`, init));
      const text = await response.text();
      let parsed: Json;
      try {
        parsed = JSON.parse(text);
      } catch {
        parsed = undefined; // plain text
      }
      return { status: response.status, headers: response.headers, body: parsed, text };
    },
    async close() {
      await server.close();
      if (!options.store) await store.close();
    },
  };
}

/** The same on a loopback port, for real clients. */
export async function serveApi(options: Partial<ApiServerOptions> = {}): Promise<TestApi & { url: string }> {
  const api = await startApi(options);
  const running = await serve({
    handler: api.server.handler,
    listen: { host: "127.0.0.1", port: 0 },
  });
  return {
    ...api,
    url: `http://127.0.0.1:${running.port}`,
    async close() {
      await api.close();
      await running.close();
    },
  };
}
