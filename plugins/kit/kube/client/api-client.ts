// A client of the Kubernetes API on any `fetch`: the verbs, failures as Faults, retries when the server asks for them.

import { branch, type Call } from "../../base/call.ts";
import { type Clock, systemClock } from "../../base/clock.ts";
import { Fault, toFault } from "../../base/fault.ts";
import type { Fetch } from "../../base/fetch.ts";
import { type Log, noLog } from "../../base/log.ts";
import { apiVersionOf, type ResourceRef, resourcePath } from "../objects/resources.ts";
import type { KubeList, ObjectMeta } from "../objects/types.ts";
import type { CertificateMismatch } from "../../os/platform/http-client.ts";
import { TextRequest, type TextRequestInit } from "../../base/text-request.ts";
import { faultOf, faultOfResponse, type Status } from "./status.ts";
import { jsonLines } from "./watch-lines.ts";

export type { Fetch } from "../../base/fetch.ts";

export interface ObjectAddress {
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly subresource?: string | undefined;
}

export interface ListOptions {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  readonly limit?: number | undefined;
  readonly continue?: string | undefined;
  readonly resourceVersion?: string | undefined;
}

export interface WatchOptions {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly allowBookmarks?: boolean | undefined;
  readonly timeoutSeconds?: number | undefined;
}

export interface CreateOptions {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly subresource?: string | undefined;
  readonly dryRun?: boolean | undefined;
}

export interface DeleteOptions {
  readonly gracePeriodSeconds?: number | undefined;
  readonly propagationPolicy?: "Orphan" | "Background" | "Foreground" | undefined;
  readonly preconditions?: { uid?: string; resourceVersion?: string } | undefined;
}

export interface Patch {
  readonly type: "json" | "merge" | "strategic" | "apply";
  readonly body: unknown;
  readonly fieldManager?: string | undefined;
  readonly force?: boolean | undefined;
}

export interface WatchEvent<T> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK";
  readonly object: T;
}

const patchTypes = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
} as const;

const mostTries = 10;
const longestRetryAfterSeconds = 60;
const pageSize = 500;

export class ApiClient {
  readonly #fetch: Fetch;
  readonly #server: string;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #userAgent: string;

  constructor(options: { fetch: Fetch; server?: string; log?: Log; clock?: Clock; userAgent?: string }) {
    this.#fetch = options.fetch;
    this.#server = (options.server ?? "http://localhost").replace(/\/+$/, "");
    this.#log = options.log ?? noLog;
    this.#clock = options.clock ?? systemClock;
    this.#userAgent = options.userAgent ?? "skiff";
  }

  get<T>(ref: ResourceRef, at: ObjectAddress, call: Call): Promise<T> {
    return this.#json(resourcePath(ref, at), {}, call);
  }

  async list<T>(ref: ResourceRef, options: ListOptions, call: Call): Promise<KubeList<T>> {
    const { namespace, ...query } = options;
    const list = await this.#json<KubeList<T>>(resourcePath(ref, { namespace }) + queryOf({ ...query }), {}, call);
    // Items travel without their type, and an empty list may be null.
    list.items ??= [];
    for (const item of list.items as { apiVersion?: string; kind?: string }[]) {
      item.apiVersion ??= apiVersionOf(ref);
      item.kind ??= ref.kind;
    }
    return list;
  }

  /** The whole list, fetched in pages that belong to one moment. */
  async listAll<T>(ref: ResourceRef, options: ListOptions, call: Call): Promise<KubeList<T>> {
    const first = await this.list<T>(ref, { limit: pageSize, ...options }, call);
    let next = first.metadata.continue;
    while (next) {
      // The first answer fixed the moment; a resourceVersion beside a continue token is refused by servers.
      const page = await this.list<T>(
        ref,
        { limit: pageSize, ...options, resourceVersion: undefined, continue: next },
        call,
      );
      for (const item of page.items) first.items.push(item);
      next = page.metadata.continue;
    }
    const { continue: _, remainingItemCount: __, ...metadata } = first.metadata;
    return { ...first, metadata };
  }

  create<T>(ref: ResourceRef, object: object, call: Call, options: CreateOptions = {}): Promise<T> {
    const { metadata } = object as { metadata?: ObjectMeta };
    const namespace = options.namespace ?? metadata?.namespace;
    const path = resourcePath(ref, { namespace, name: options.name, subresource: options.subresource });
    const query = queryOf({ dryRun: options.dryRun ? "All" : undefined });
    return this.#json(path + query, { method: "POST", body: object, contentType: "application/json" }, call);
  }

  update<T>(ref: ResourceRef, object: object, call: Call, options: { subresource?: string } = {}): Promise<T> {
    const { metadata } = object as { metadata?: ObjectMeta };
    const path = resourcePath(ref, {
      namespace: metadata?.namespace,
      name: metadata?.name ?? "",
      subresource: options.subresource,
    });
    return this.#json(path, { method: "PUT", body: object, contentType: "application/json" }, call);
  }

  patch<T>(ref: ResourceRef, at: ObjectAddress, patch: Patch, call: Call): Promise<T> {
    const query = queryOf({ fieldManager: patch.fieldManager, force: patch.force });
    const init = { method: "PATCH", body: patch.body, contentType: patchTypes[patch.type] };
    return this.#json(resourcePath(ref, at) + query, init, call);
  }

  delete(
    ref: ResourceRef,
    at: { namespace?: string | undefined; name: string },
    call: Call,
    options: DeleteOptions = {},
  ): Promise<unknown> {
    const body = { kind: "DeleteOptions", apiVersion: "v1", ...options };
    return this.#json(resourcePath(ref, at), { method: "DELETE", body, contentType: "application/json" }, call);
  }

  deleteCollection(ref: ResourceRef, options: ListOptions & DeleteOptions, call: Call): Promise<unknown> {
    const { namespace, labelSelector, fieldSelector, limit: _, continue: __, resourceVersion: ___, ...rest } = options;
    const path = resourcePath(ref, { namespace }) + queryOf({ labelSelector, fieldSelector });
    const body = { kind: "DeleteOptions", apiVersion: "v1", ...rest };
    return this.#json(path, { method: "DELETE", body, contentType: "application/json" }, call);
  }

  /** Events until the server ends the stream; an error event or a refusal is thrown as a Fault (`expired` for 410). */
  async *watch<T>(ref: ResourceRef, options: WatchOptions, call: Call): AsyncGenerator<WatchEvent<T>, void, undefined> {
    const { namespace, allowBookmarks, ...rest } = options;
    const query = queryOf({ watch: true, allowWatchBookmarks: allowBookmarks, ...rest });
    const doing = `Watching ${ref.plural}`;
    const link = branch(call);
    try {
      const response = await this.request(resourcePath(ref, { namespace }) + query, {}, link.call);
      for await (const line of jsonLines(response.body ?? noBody())) {
        const event = line as { type: string; object: T };
        if (event.type === "ERROR") {
          const status = event.object as Status;
          throw faultOf(status.code ?? 500, status, doing);
        }
        yield event as WatchEvent<T>;
      }
    } catch (error) {
      throw toFault(error, doing, "unavailable");
    } finally {
      link.end();
    }
  }

  /** Any request by path, with header names in lower case; the answer is a success, everything else is thrown as a Fault. Retried when the server asks. */
  async request(path: string, init: TextRequestInit, call: Call): Promise<Response> {
    const doing = `${init.method ?? "GET"} ${path.split("?")[0]}`;
    for (let tries = 1; ; tries++) {
      const response = await this.#send(path, init, call, doing);
      if (response.ok) return response;
      const waitSeconds = retryAfterSeconds(response);
      if (waitSeconds === undefined || tries >= mostTries) throw await faultOfResponse(response, doing);
      await response.body?.cancel();
      this.#log.debug({ path, status: response.status, waitSeconds }, "the API server asks to wait");
      await this.#clock.sleep(waitSeconds * 1000, call);
    }
  }

  async #send(path: string, init: TextRequestInit, call: Call, doing: string): Promise<Response> {
    try {
      const headers = { "user-agent": this.#userAgent, accept: "application/json", ...init.headers };
      return await this.#fetch(new TextRequest(this.#server + path, { ...init, headers }, call.signal));
    } catch (error) {
      throw withNameHint(toFault(error, doing, "unavailable"));
    }
  }

  async #json<T>(
    path: string,
    init: { method?: string; body?: unknown; contentType?: string },
    call: Call,
  ): Promise<T> {
    const link = branch(call);
    try {
      const response = await this.request(
        path,
        {
          ...(init.method ? { method: init.method } : {}),
          ...(init.body === undefined ? {} : { body: JSON.stringify(init.body) }),
          ...(init.contentType ? { headers: { "content-type": init.contentType } } : {}),
        },
        link.call,
      );
      return (await response.json()) as T;
    } catch (error) {
      throw toFault(error, `Reading the answer to ${init.method ?? "GET"} ${path.split("?")[0]}`, "unavailable");
    } finally {
      link.end();
    }
  }
}

async function* noBody(): AsyncGenerator<Uint8Array> {}

function queryOf(values: Record<string, string | number | boolean | undefined>): string {
  const given = Object.entries(values).flatMap(([key, value]) =>
    value === undefined || value === "" ? [] : [`${key}=${encodeURIComponent(String(value))}`],
  );
  return given.length === 0 ? "" : `?${given.join("&")}`;
}

/** How long the server asks to wait before the same request again, if it does. */
function retryAfterSeconds(response: Response): number | undefined {
  if (response.status !== 429 && response.status < 500) return undefined;
  const text = response.headers.get("retry-after") ?? "";
  return /^\d+$/.test(text) ? Math.min(Number(text), longestRetryAfterSeconds) : undefined;
}

/** Which flag of a Skiff server puts the name that it was asked by into its certificate. */
function withNameHint(fault: Fault): Fault {
  const { certificateNotFor: name } = (fault.details ?? {}) as Partial<CertificateMismatch>;
  if (name === undefined) return fault;
  return new Fault(fault.code, `${fault.message}; start the Skiff server with --tls-san=${name}`, { cause: fault });
}
