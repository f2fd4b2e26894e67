// What was asked of the server and how long the answers took, by the labels that rules and boards for kube-apiserver select by.
// Labels come from parsed paths of known resources, never from what a client may choose freely.

import type { ResourcePath } from "./path.ts";
import type { ApiRequest } from "../machinery/request.ts";

/** Of the answers to one kind of request. */
export interface RequestMeter {
  /** `elsewhereSeconds` of them were spent in line and on webhooks: no sign of how the server itself is doing. */
  record(code: number, seconds: number, elsewhereSeconds: number): void;
}

// Upstream's: rules name some of these limits.
const sliBuckets = [0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60];
const buckets = [0.005, 0.025, ...sliBuckets];

class Distribution {
  readonly #limits: readonly number[];
  readonly #counts: Uint32Array;
  #sum = 0;
  #total = 0;

  constructor(limits: readonly number[]) {
    this.#limits = limits;
    this.#counts = new Uint32Array(limits.length);
  }

  add(value: number): void {
    this.#sum += value;
    this.#total++;
    const place = this.#limits.findIndex((limit) => value <= limit);
    if (place >= 0) this.#counts[place] = (this.#counts[place] ?? 0) + 1;
  }

  *lines(name: string, labels: string): Generator<string> {
    if (this.#total === 0) return;
    let below = 0;
    for (const [place, limit] of this.#limits.entries()) {
      below += this.#counts[place] ?? 0;
      yield `${name}_bucket{${labels},le="${limit}"} ${below}`;
    }
    yield `${name}_bucket{${labels},le="+Inf"} ${this.#total}`;
    yield `${name}_sum{${labels}} ${this.#sum}`;
    yield `${name}_count{${labels}} ${this.#total}`;
  }
}

/** What is told without looking at whether it was a dry run. */
class Whole {
  readonly labels: string;
  readonly sliSeconds = new Distribution(sliBuckets);
  readonly terminations = new Map<number, number>();

  constructor(labels: string) {
    this.labels = labels;
  }
}

class Meter implements RequestMeter {
  readonly whole: Whole;
  readonly labels: string;
  readonly codes = new Map<number, number>();
  readonly seconds = new Distribution(buckets);

  /** Watches and connections last as long as their clients like. */
  readonly #isTimed: boolean;

  constructor(whole: Whole, dryRun: string, isTimed: boolean) {
    this.whole = whole;
    this.#isTimed = isTimed;
    this.labels = `${whole.labels},dry_run="${dryRun}"`;
  }

  record(code: number, seconds: number, elsewhereSeconds: number): void {
    count(this.codes, code);
    if (terminations.has(code)) count(this.whole.terminations, code);
    // What was turned away says nothing of how long answers take.
    if (!this.#isTimed || code === tooMany) return;
    this.seconds.add(seconds);
    this.whole.sliSeconds.add(Math.max(0, seconds - elsewhereSeconds));
  }
}

function count(counts: Map<number, number>, code: number): void {
  counts.set(code, (counts.get(code) ?? 0) + 1);
}

const tooMany = 429;
/** The server itself put an end to these. */
const terminations: ReadonlySet<number> = new Set([tooMany, 504]);
const connections: ReadonlySet<string> = new Set(["log", "exec", "attach", "portforward", "proxy"]);
/** Any other is answered with 404, under no name. */
const subresources: ReadonlySet<string> = new Set([
  ...connections,
  ..."approval binding ephemeralcontainers eviction finalize resize scale status token".split(" "),
]);
const methods: Readonly<Record<string, string>> = {
  get: "GET",
  list: "LIST",
  watch: "WATCH",
  create: "POST",
  update: "PUT",
  patch: "PATCH",
  delete: "DELETE",
  deletecollection: "DELETE",
};

export class RequestMetrics {
  readonly #meters = new Map<string, Meter>();
  readonly #wholes = new Map<string, Whole>();

  /** Of a request on a resource that is known. */
  meterOf(verb: string, path: ResourcePath, request: ApiRequest): RequestMeter {
    const told = toldVerb(verb, path, request);
    const scope = path.name !== "" || verb === "create" ? "resource" : path.namespace !== "" ? "namespace" : "cluster";
    const dryRun = toldDryRun(request);
    const subresource = subresources.has(path.subresource) ? path.subresource : "";
    const { group, version, plural } = path;
    const key = `${told} ${scope} ${dryRun} ${group}/${version}/${plural}/${subresource}`;
    const known = this.#meters.get(key);
    if (known) return known;
    const named = `group="${group}",version="${version}",resource="${plural}",subresource="${subresource}"`;
    const labels = `component="apiserver",verb="${told}",${named},scope="${scope}"`;
    const whole = this.#wholes.get(labels) ?? new Whole(labels);
    this.#wholes.set(labels, whole);
    const made = new Meter(whole, dryRun, told !== "WATCH" && told !== "CONNECT");
    this.#meters.set(key, made);
    return made;
  }

  *lines(): Generator<string> {
    const [total, ended] = ["apiserver_request_total", "apiserver_request_terminations_total"];
    const [seconds, sli] = ["apiserver_request_duration_seconds", "apiserver_request_sli_duration_seconds"];
    yield* head(total, "counter", "Requests answered.");
    for (const { labels, codes } of this.#meters.values()) yield* countLines(total, labels, codes);
    yield* head(ended, "counter", "Requests that the server put an end to.");
    for (const { labels, terminations } of this.#wholes.values()) yield* countLines(ended, labels, terminations);
    yield* head(seconds, "histogram", "How long answers took.");
    for (const meter of this.#meters.values()) yield* meter.seconds.lines(seconds, meter.labels);
    yield* head(sli, "histogram", "How long answers took, without the time spent in line and on webhooks.");
    for (const { labels, sliSeconds } of this.#wholes.values()) yield* sliSeconds.lines(sli, labels);
  }
}

function* countLines(name: string, labels: string, codes: ReadonlyMap<number, number>): Generator<string> {
  for (const [code, times] of codes) yield `${name}{${labels},code="${code}"} ${times}`;
}

export function* head(name: string, type: string, help: string): Generator<string> {
  yield `# HELP ${name} ${help}`;
  yield `# TYPE ${name} ${type}`;
}

function toldVerb(verb: string, path: ResourcePath, request: ApiRequest): string {
  if (connections.has(path.subresource)) return "CONNECT";
  const isApply =
    verb === "patch" && request.headers.get("content-type")?.startsWith("application/apply-patch") === true;
  return isApply ? "APPLY" : (methods[verb] ?? "other");
}

function toldDryRun({ method, query }: ApiRequest): string {
  if (method === "GET" || !query.has("dryRun")) return "";
  return query.getAll("dryRun").every((value) => value === "All") ? "All" : "invalid";
}
