// GET with watch=true: a stream of JSON lines. Each event is encoded once and shared by all who want it in the same form.
// A watcher that does not read is cut off; nothing is buffered without end.

import { checkListOptions } from "../check-options.ts";
import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import { groupVersion, type ResourceDefinition } from "../../resources/definition.ts";
import type { Entry } from "../../storage/entry.ts";
import { type CacheEvent, inNamespace, type ResourceCache } from "../../storage/resource-cache.ts";
import type { Sink } from "../../../plugins/kit/base/sink-response.ts";
import type { Answer } from "../../machinery/answer.ts";
import { inForm, typeOf } from "../forms.ts";
import { type Wanted, wantedForm } from "../media-type.ts";
import { isTrue } from "../../../plugins/kit/base/query-flag.ts";
import { objectOf, type Scope, shownEntries } from "../scope.ts";
import { type Selection, selectionOf } from "../selection.ts";
import { badRequest, failure, statusOf } from "../../machinery/status.ts";
import { includedObject, partialMetadata, tableOf } from "../table.ts";
import { notOlderThan, scopeNamespace } from "./get.ts";
import { cacheOf, numberOf } from "./list.ts";

type EventType = CacheEvent["type"];

/** More than this unread by the client and the watch is ended; the client lists again or resumes. */
const slowWatcherBytes = 8 << 20;
/** The same for a watch of a user whose watches together hold more than they may. */
const unreadOfOneBytes = 16 * 1024;
/** So much of the initial events is written before the client has read of it. */
const initialAheadBytes = 256 * 1024;
/** More events than this waiting for who converts them, or for a client that reads the initial ones, and the watch is ended too. */
const mostWaiting = 1000;
const bookmarkEveryMs = 60_000;
const longestWatchSeconds = 60 * 60;
const encoder = new TextEncoder();

export async function watchObjects(scope: Scope): Promise<Answer> {
  const { query } = scope.request;
  const wanted = wantedForm(scope.request.headers.get("accept"));
  const selection = ofName(scope, selectionOf(scope));
  const counted = countedUser(scope);
  if (counted !== undefined) scope.services.watches.admit(counted);
  const sendInitial = query.get("sendInitialEvents");
  checkListOptions(query, true);
  if (isTrue(sendInitial) && !isTrue(query.get("allowWatchBookmarks")))
    throw badRequest("allowWatchBookmarks must be true when sendInitialEvents is true");
  // Refused here, while there is still a status to answer with.
  for (const name of ["timeoutSeconds", "limit"]) numberOf(query.get(name));
  const asked = query.get("resourceVersion") ?? "";
  let since: number | undefined;
  if (asked !== "" && asked !== "0") since = await notOlderThan(scope, asked);
  if (isTrue(sendInitial)) {
    since = undefined;
    if (asked === "") await scope.services.cache.caughtUp(scope.call);
  } else if (sendInitial === "false" && since === undefined) since = scope.services.cache.revision;
  const stream = new WatchStream(scope, wanted, selection, cacheOf(scope));
  return {
    status: 200,
    headers: {
      "content-type": wanted.as ? typeOf(wanted, ";stream=watch") : "application/json;stream=watch",
      "cache-control": "no-cache, private",
    },
    body: (sink) => stream.start(sink, since, isTrue(sendInitial)),
  };
}

/** The deprecated form of a watch that names an object in its path was authorized for that object and shows no other. */
function ofName({ name, request }: Scope, selection: Selection): Selection {
  if (name === "") return selection;
  if (request.query.get("fieldSelector") && selection.name !== name)
    throw badRequest("fieldSelector metadata.name doesn't match requested name");
  const { matches } = selection;
  return { name, matches: (entry) => entry.name === name && (!matches || matches(entry)) };
}

/** Whose unread bytes are counted: nobody's for callers in this process. */
function countedUser({ request, user }: Scope): string | undefined {
  return request.user === undefined ? user.name : undefined;
}

class WatchStream {
  readonly #scope: Scope;
  readonly #wanted: Wanted;
  readonly #selection: Selection;
  readonly #cache: ResourceCache;
  readonly #namespacePrefix: string;
  #sentColumns = false;
  /** What is being converted; everything later waits for it. */
  #turn: Promise<void> | undefined;
  #waiting = 0;
  #ended = false;
  #stops: Array<() => void> = [];

  constructor(scope: Scope, wanted: Wanted, selection: Selection, cache: ResourceCache) {
    this.#scope = scope;
    this.#wanted = wanted;
    this.#selection = selection;
    this.#cache = cache;
    const namespace = scopeNamespace(scope);
    this.#namespacePrefix = namespace === "" ? "" : `${namespace}/`;
  }

  start(sink: Sink, since: number | undefined, marksInitialEnd: boolean): void {
    const { request, services, definition, namespace, call } = this.#scope;
    const end = () => this.#end(sink);
    sink.onClose(end);
    const seconds = Math.min(
      numberOf(request.query.get("timeoutSeconds")) || 1800 + Math.random() * 1800,
      longestWatchSeconds,
    );
    this.#stops.push(services.clock.after(seconds * 1000, end));
    call.signal.addEventListener("abort", end, { once: true });
    this.#stops.push(() => call.signal.removeEventListener("abort", end));
    const { group, version, plural } = definition;
    const scope = namespace === "" ? "cluster" : "namespace";
    this.#stops.push(services.watches.add(end, { group, version, plural, scope }));
    const user = countedUser(this.#scope);
    // What is left to send still counts when the watch has ended.
    if (user !== undefined) sink.onClose(services.watches.count(user, () => sink.buffered));
    try {
      this.#begin(sink, since, marksInitialEnd);
    } catch (error) {
      const status = failure(410, "Expired", error instanceof Error ? error.message : String(error));
      sink.write(encoder.encode(`${JSON.stringify({ type: "ERROR", object: status })}\n`));
      return end();
    }
    if (isTrue(request.query.get("allowWatchBookmarks"))) this.#bookmarkLater(sink);
  }

  #begin(sink: Sink, since: number | undefined, marksInitialEnd: boolean): void {
    const { services } = this.#scope;
    let from = since;
    if (from === undefined) {
      const revision = services.cache.revision;
      from = revision;
      this.#inTurn(sink, inNamespace(this.#cache.sorted(), scopeNamespace(this.#scope)), (entries) => {
        const bookmark = () => {
          if (marksInitialEnd && !this.#ended) this.#bookmark(sink, revision, { "k8s.io/initial-events-end": "true" });
        };
        const rest = this.#sendInitial(sink, entries.values());
        return rest ? rest.then(bookmark) : bookmark();
      });
    }
    const unsubscribe = this.#cache.subscribe(from, (event) => this.#onStored(sink, event));
    if (this.#ended) unsubscribe();
    else this.#stops.push(unsubscribe);
  }

  /** As fast as the client reads: at once where it is little. */
  #sendInitial(sink: Sink, entries: Iterator<Entry>): Promise<void> | undefined {
    for (let next = entries.next(); !next.done && !this.#ended; next = entries.next()) {
      if (!this.#wants(next.value)) continue;
      this.#send(sink, "ADDED", next.value);
      if (sink.buffered > initialAheadBytes) return this.#sendRest(sink, entries);
    }
    return undefined;
  }

  async #sendRest(sink: Sink, entries: Iterator<Entry>): Promise<void> {
    await sink.drained();
    for (let next = entries.next(); !next.done && !this.#ended; next = entries.next()) {
      if (!this.#wants(next.value)) continue;
      this.#send(sink, "ADDED", next.value);
      if (sink.buffered > initialAheadBytes) await sink.drained();
    }
  }

  /** An event as the version of the watch shows it. */
  #onStored(sink: Sink, event: CacheEvent): void {
    if (!this.#scope.definition.conversion && !this.#turn) return this.#onEvent(sink, event);
    const { entry, previous } = event;
    this.#inTurn(sink, previous ? [entry, previous] : [entry], ([shown = entry, before]) => {
      if (shown === entry && before === previous) this.#onEvent(sink, event);
      else this.#onEvent(sink, { ...event, entry: shown, ...(before ? { previous: before } : {}) });
    });
  }

  /**
   * Goes on with what the version shows of the entries: now, or when who converts has answered and what was sent before is
   * read; never out of order.
   */
  #inTurn(
    sink: Sink,
    entries: readonly Entry[],
    then: (shown: readonly Entry[]) => Promise<void> | undefined | void,
  ): void {
    const { definition, call } = this.#scope;
    const now = this.#turn ? undefined : shownEntries(definition, entries, call);
    const isNow = now !== undefined && !(now instanceof Promise);
    const begun = isNow ? then(now) : undefined;
    if (isNow && !begun) return;
    if (++this.#waiting > mostWaiting) return this.#end(sink);
    const shown = now ?? this.#turn?.then(() => shownEntries(definition, entries, call));
    const turn = Promise.resolve(begun ?? shown)
      .then((made) => (made && !this.#ended ? then(made) : undefined))
      .catch((error: unknown) => {
        if (!this.#ended) sink.write(encoder.encode(`${JSON.stringify({ type: "ERROR", object: statusOf(error) })}\n`));
        this.#end(sink);
      })
      .finally(() => {
        this.#waiting--;
        if (this.#turn === turn) this.#turn = undefined;
      });
    this.#turn = turn;
  }

  #wants(entry: Entry): boolean {
    if (this.#namespacePrefix !== "" && !entry.key.startsWith(this.#namespacePrefix)) return false;
    return !this.#selection.matches || this.#selection.matches(entry);
  }

  /** With a selector an object may enter or leave what is watched without being created or deleted. */
  #onEvent(sink: Sink, event: CacheEvent): void {
    if (this.#ended) return;
    if (!this.#selection.matches) {
      if (this.#wants(event.entry)) this.#send(sink, event.type, event.entry, event);
      return;
    }
    const isIn = event.type !== "DELETED" && this.#wants(event.entry);
    const wasIn = event.previous !== undefined && this.#wants(event.previous);
    if (isIn) this.#send(sink, wasIn ? "MODIFIED" : "ADDED", event.entry, event);
    else if (wasIn)
      this.#send(
        sink,
        "DELETED",
        event.type === "DELETED" ? event.entry : (event.previous as Entry).deletedAt(event.revision),
      );
  }

  #send(sink: Sink, type: EventType, entry: Entry, event?: CacheEvent): void {
    if (this.#isSlow(sink)) return this.#end(sink);
    const { definition } = this.#scope;
    if (this.#wanted.as === undefined && !definition.fromStored) {
      sink.write(event && event.type === type && event.entry === entry ? sharedLine(event) : plainLine(type, entry));
      return;
    }
    const object = this.#formed(objectOf(definition, entry));
    sink.write(encoder.encode(`${JSON.stringify({ type, object })}\n`));
  }

  #isSlow({ buffered }: Sink): boolean {
    if (buffered <= unreadOfOneBytes) return false;
    if (buffered > slowWatcherBytes) return true;
    const user = countedUser(this.#scope);
    return user !== undefined && this.#scope.services.watches.isOverBudget(user);
  }

  #formed(object: KubeObject): unknown {
    if (this.#wanted.as !== "Table") return inForm(this.#scope, this.#scope.definition, this.#wanted, object);
    const table = tableOf(
      this.#scope.definition,
      [object],
      { resourceVersion: object.metadata.resourceVersion ?? "" },
      {
        now: this.#scope.services.clock.now(),
        include: includedObject(this.#scope.request.query.get("includeObject")),
        version: this.#wanted.version,
        withoutColumns: this.#sentColumns,
      },
    );
    this.#sentColumns = true;
    return table;
  }

  #bookmarkLater(sink: Sink): void {
    const cancel = this.#scope.services.clock.after(bookmarkEveryMs, () => {
      this.#stops = this.#stops.filter((stop) => stop !== cancel);
      const { revision } = this.#scope.services.cache;
      this.#inTurn(sink, [], () => this.#bookmark(sink, revision));
      if (!this.#ended) this.#bookmarkLater(sink);
    });
    this.#stops.push(cancel);
  }

  #bookmark(sink: Sink, revision: number, annotations?: Record<string, string>): void {
    const object = bookmarkObject(this.#scope.definition, revision, annotations);
    const formed =
      this.#wanted.as === undefined
        ? object
        : this.#wanted.as === "Table"
          ? {
              kind: "Table",
              apiVersion: `meta.k8s.io/${this.#wanted.version}`,
              metadata: object.metadata,
              columnDefinitions: null,
              rows: [],
            }
          : partialMetadata(object, this.#wanted.version);
    sink.write(encoder.encode(`${JSON.stringify({ type: "BOOKMARK", object: formed })}\n`));
  }

  #end(sink: Sink): void {
    if (this.#ended) return;
    this.#ended = true;
    for (const stop of this.#stops) stop();
    this.#stops = [];
    sink.end();
  }
}

function bookmarkObject(
  definition: ResourceDefinition,
  revision: number,
  annotations?: Record<string, string>,
): KubeObject {
  const metadata = {
    resourceVersion: String(revision),
    creationTimestamp: null,
    ...(annotations ? { annotations } : {}),
  };
  return {
    kind: definition.kind,
    apiVersion: groupVersion(definition),
    metadata: metadata as unknown as KubeObject["metadata"],
  };
}

let lastLine: { event: CacheEvent; line: Buffer } | undefined;

/** Watchers are told of an event one after the other, so keeping the last line is enough for all of them. */
function sharedLine(event: CacheEvent): Buffer {
  if (lastLine?.event === event) return lastLine.line;
  const line = plainLine(event.type, event.entry);
  lastLine = { event, line };
  return line;
}

function plainLine(type: EventType, entry: Entry): Buffer {
  const head = `{"type":"${type}","object":`;
  const target = Buffer.allocUnsafe(head.length + entry.wireLength + 2);
  let at = target.write(head, 0, "latin1");
  at = entry.writeTo(target, at);
  target.write("}\n", at, "latin1");
  return target;
}
