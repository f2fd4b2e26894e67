// A small API server in memory for tests of clients: any resource by its path, lists in pages, watches, and ways to make trouble.
// It knows nothing of kinds, defaults or validation: tests of those use the real one.

import type { Fetch } from "../../plugins/kit/base/fetch.ts";
import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import { applyMergePatch } from "../../plugins/kit/kube/patch/merge-patch.ts";

interface Watcher {
  readonly collection: string;
  readonly namespace: string | undefined;
  readonly controller: ReadableStreamDefaultController<Uint8Array>;
}

interface Change {
  readonly revision: number;
  readonly collection: string;
  readonly type: string;
  readonly object: KubeObject;
}

interface Place {
  /** Without the namespace: all objects of a resource share it. */
  readonly collection: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
}

export class FakeApi {
  revision = 10;
  /** Every request seen, as `METHOD /path?query`. */
  readonly requests: string[] = [];
  /** Answers that are given instead of the real one, first come first served; undefined lets the request through. */
  readonly answers: ((request: Request) => Response | undefined)[] = [];
  readonly #objects = new Map<string, KubeObject>();
  readonly #watchers = new Set<Watcher>();
  readonly #history: Change[] = [];
  #oldest = 0;

  readonly fetch: Fetch = async (request) => {
    const url = new URL(request.url);
    this.requests.push(`${request.method} ${url.pathname}${url.search}`);
    const forced = this.answers.shift()?.(request);
    if (forced) return forced;
    const place = placeOf(url.pathname);
    if (request.method === "GET" && url.searchParams.get("watch") === "true") return this.#watch(place, url, request);
    if (request.method === "GET") return place.name ? this.#get(place) : this.#list(place, url);
    if (request.method === "DELETE") return this.#delete(place);
    return this.#write(place, request);
  };

  get watchers(): number {
    return this.#watchers.size;
  }

  put(collection: string, object: KubeObject): KubeObject {
    const key = keyOf(collection, object.metadata.namespace, object.metadata.name);
    const isNew = !this.#objects.has(key);
    const kept = { ...object, metadata: { uid: `uid-${this.revision + 1}`, ...object.metadata } };
    kept.metadata.resourceVersion = String(++this.revision);
    this.#objects.set(key, kept);
    this.#tell({ revision: this.revision, collection, type: isNew ? "ADDED" : "MODIFIED", object: kept });
    return kept;
  }

  remove(collection: string, namespace: string | undefined, name: string): KubeObject | undefined {
    const key = keyOf(collection, namespace, name);
    const object = this.#objects.get(key);
    if (!object || !this.#objects.delete(key)) return undefined;
    const gone = { ...object, metadata: { ...object.metadata, resourceVersion: String(++this.revision) } };
    this.#tell({ revision: this.revision, collection, type: "DELETED", object: gone });
    return gone;
  }

  objects(collection: string): KubeObject[] {
    return [...this.#objects].filter(([key]) => key.startsWith(`${collection}|`)).map(([, object]) => object);
  }

  bookmark(): void {
    this.#sendAll({ type: "BOOKMARK", object: { metadata: { resourceVersion: String(this.revision) } } });
  }

  /** Forgets history, so that watches from earlier revisions are answered with 410. */
  compact(): void {
    this.#oldest = this.revision;
    this.#history.length = 0;
  }

  /** Ends every watch: cleanly, or as a broken connection. */
  cutWatches(how: "end" | "break" = "end"): void {
    for (const { controller } of this.#watchers) {
      if (how === "end") controller.close();
      else controller.error(new Error("reset"));
    }
    this.#watchers.clear();
  }

  #get(place: Place): Response {
    const object = this.#objects.get(keyOf(place.collection, place.namespace, place.name));
    return object ? Response.json(object) : failure(404, "NotFound", `"${place.name}" not found`);
  }

  #list(place: Place, url: URL): Response {
    const all = this.objects(place.collection).filter((object) => isIn(object, place.namespace));
    const limit = Number(url.searchParams.get("limit") ?? all.length);
    const start = Number(url.searchParams.get("continue") ?? 0);
    const end = start + limit;
    const metadata = { resourceVersion: String(this.revision), ...(end < all.length ? { continue: String(end) } : {}) };
    return Response.json({ kind: "List", apiVersion: "v1", metadata, items: all.slice(start, end) });
  }

  #watch(place: Place, url: URL, request: Request): Response {
    const since = Number(url.searchParams.get("resourceVersion") ?? 0);
    if (since < this.#oldest) return failure(410, "Expired", "too old resource version");
    let watcher: Watcher | undefined;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        watcher = { collection: place.collection, namespace: place.namespace, controller };
        this.#watchers.add(watcher);
        for (const change of this.#history) if (change.revision > since) this.#send(watcher, change);
        request.signal.addEventListener("abort", () => {
          if (watcher && this.#watchers.delete(watcher)) controller.error(request.signal.reason);
        });
      },
      cancel: () => void (watcher && this.#watchers.delete(watcher)),
    });
    return new Response(body);
  }

  async #write(place: Place, request: Request): Promise<Response> {
    const body = (await request.json()) as KubeObject;
    if (place.subresource && request.method === "POST") return Response.json(body, { status: 201 });
    const name = place.name ?? body.metadata.name;
    const current = this.#objects.get(keyOf(place.collection, place.namespace, name));
    if (request.method === "POST" && current) return failure(409, "AlreadyExists", `"${name}" already exists`);
    if (request.method !== "POST" && !current) return failure(404, "NotFound", `"${name}" not found`);
    const expected = body.metadata?.resourceVersion;
    if (current && expected && expected !== current.metadata.resourceVersion)
      return failure(409, "Conflict", "the object has been modified");
    const next = request.method === "PATCH" ? (applyMergePatch(current, body) as KubeObject) : body;
    const metadata = { ...next.metadata, ...(place.namespace ? { namespace: place.namespace } : {}) };
    return Response.json(this.put(place.collection, { ...next, metadata }), { status: current ? 200 : 201 });
  }

  #delete(place: Place): Response {
    const gone = this.remove(place.collection, place.namespace, place.name ?? "");
    return gone ? Response.json(gone) : failure(404, "NotFound", `"${place.name}" not found`);
  }

  #tell(change: Change): void {
    this.#history.push(change);
    for (const watcher of this.#watchers) this.#send(watcher, change);
  }

  #send(watcher: Watcher, change: Change): void {
    if (change.collection !== watcher.collection || !isIn(change.object, watcher.namespace)) return;
    watcher.controller.enqueue(line({ type: change.type, object: change.object }));
  }

  #sendAll(event: unknown): void {
    for (const { controller } of this.#watchers) controller.enqueue(line(event));
  }
}

const line = (value: unknown) => new TextEncoder().encode(`${JSON.stringify(value)}\n`);

const isIn = (object: KubeObject, namespace: string | undefined) =>
  namespace === undefined || object.metadata.namespace === namespace;

const keyOf = (collection: string, namespace: string | undefined, name: string | undefined) =>
  `${collection}|${namespace ?? ""}/${name}`;

function placeOf(path: string): Place {
  const match =
    /^(\/api\/[^/]+|\/apis\/[^/]+\/[^/]+)(?:\/namespaces\/([^/]+))?\/([^/]+)(?:\/([^/]+))?(?:\/(.+))?$/.exec(path);
  const [, root = "", namespace, plural = "", name, subresource] = match ?? [];
  return { collection: `${root}/${plural}`, namespace, name, subresource };
}

export function failure(code: number, reason: string, message: string, headers: Record<string, string> = {}): Response {
  return Response.json(
    { kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message },
    { status: code, headers },
  );
}
