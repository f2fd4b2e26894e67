// The client seam: `fetch` over TCP, TLS with client certificates or a unix socket, with kept connections, streamed bodies
// and back-pressure, and requests that leave HTTP behind (Upgrade). The same on both runtimes.

import http from "node:http";
import https from "node:https";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import tls from "node:tls";
import { callbackify } from "node:util";
import type { Call } from "../../base/call.ts";
import { Fault, toFault } from "../../base/fault.ts";
import type { Fetch } from "../../base/fetch.ts";
import { bodyOf, type OutgoingBody, outgoingBody } from "./http-body.ts";
import { runtime } from "./runtime.ts";

export interface HttpClientOptions {
  /** PEM; when set, only servers of this authority are trusted. */
  readonly ca?: string | undefined;
  /** Our own certificate and key, PEM. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  /** Every request goes to this unix socket; the URL's host is only a name then. */
  readonly socketPath?: string | undefined;
  /** The name that the server's certificate must carry, when it is not the URL's host. */
  readonly servername?: string | undefined;
  /** Takes any server certificate: for those that ask for it by name. */
  readonly insecureSkipVerify?: boolean | undefined;
  /** Makes the stream that a connection runs over, in place of a TCP connection to the URL's host. */
  readonly connect?: ((to: { readonly host: string; readonly port: number }) => Promise<Duplex>) | undefined;
  /** For connecting and the TLS handshake together. */
  readonly connectTimeoutMs?: number | undefined;
  /**
   * How long a server may take to begin its answer. For servers that always answer soon: without it, a request on a connection whose
   * path died (our address changed, a cable was pulled) waits until the kernel gives up, a quarter of an hour.
   */
  readonly answerTimeoutMs?: number | undefined;
  readonly maxConnections?: number | undefined;
}

/** Headers by name, each value of which is a line of its own. */
type HeaderLines = Readonly<Record<string, readonly string[]>>;

export interface UpgradeRequest {
  readonly url: string;
  readonly method?: string;
  /** Connection and Upgrade among them are the caller's. */
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly lines?: HeaderLines;
}

/** The raw connection after 101, or the answer of a server that refused. */
export type UpgradeResult =
  | { upgraded: true; socket: Duplex; head: Buffer; headers: http.IncomingHttpHeaders }
  | { upgraded: false; response: Response };

export interface HttpFetch extends Fetch {
  /** `lines` are sent besides the request's own headers, and never joined: a value that holds a comma arrives as one. */
  (request: Request, lines?: HeaderLines): Promise<Response>;
  /** Asks to leave HTTP; the caller owns the socket from then on. */
  upgrade(request: UpgradeRequest, call: Call): Promise<UpgradeResult>;
  /** Drops idle and busy connections. May be called twice; later requests fail. */
  close(): void;
}

const defaultConnectTimeoutMs = 10_000;
// Finds out about a peer that vanished without a word, also below a watch on which nothing happens.
const keepAliveProbeMs = 15_000;
const repeatable = new Set(["GET", "HEAD", "OPTIONS", "PUT", "DELETE"]);

/** A fetch of its own, with its own connections. */
export function httpFetch(options: HttpClientOptions = {}): HttpFetch {
  const connections = new Connections(options);
  const fetch = async (request: Request, lines: HeaderLines = {}): Promise<Response> => {
    const body = await outgoingBody(request);
    const outgoing = { request, body, lines };
    try {
      return await exchange(connections, outgoing);
    } catch (error) {
      // The server may close a kept connection just as we use it; a request that can be repeated is, on a new one.
      if (!(error instanceof StaleConnection)) throw error;
      if (!repeatable.has(request.method) || !body.isRepeatable) throw error.cause;
      return exchange(connections, outgoing, "new connection");
    }
  };
  return Object.assign(fetch, {
    upgrade: (request: UpgradeRequest, call: Call) => upgrade(connections, request, call),
    close: () => connections.close(),
  });
}

/** One upgrade with a connection of its own. */
export function connectUpgrade(request: UpgradeRequest & HttpClientOptions, call: Call): Promise<UpgradeResult> {
  return upgrade(new Connections(request), request, call);
}

class StaleConnection extends Error {}

class Connections {
  readonly options: HttpClientOptions;
  #plain: http.Agent | undefined;
  #secure: https.Agent | undefined;
  #isClosed = false;

  constructor(options: HttpClientOptions) {
    this.options = options;
  }

  /** What node:http or node:https need to send to the URL; `alone` for a connection that is not shared. */
  requestTo(url: URL, alone: boolean): { send: typeof http.request; options: https.RequestOptions } {
    if (this.#isClosed) throw new Fault("unavailable", "The HTTP client is closed");
    const { socketPath } = this.options;
    const isSecure = url.protocol === "https:";
    const target = socketPath
      ? { socketPath }
      : { host: url.hostname.replace(/^\[(.*)\]$/, "$1"), port: url.port || (isSecure ? 443 : 80) };
    const options = {
      ...target,
      path: url.pathname + url.search,
      ...(isSecure ? this.#tls(url) : {}),
      agent: this.#agent(isSecure, alone),
    };
    return { send: isSecure ? https.request : http.request, options };
  }

  /** For when one of them turned out to lead nowhere: the others are likely to do the same. */
  dropIdle(): void {
    for (const agent of [this.#plain, this.#secure])
      for (const sockets of Object.values(agent?.freeSockets ?? {}))
        for (const socket of sockets ?? []) socket.destroy();
  }

  close(): void {
    this.#isClosed = true;
    this.#plain?.destroy();
    this.#secure?.destroy();
  }

  #tls(url: URL): https.RequestOptions {
    const { ca, cert, key, servername, insecureSkipVerify } = this.options;
    const name = servername ?? url.hostname.replace(/^\[(.*)\]$/, "$1");
    return {
      ...(ca ? { ca } : {}),
      ...(cert && key ? { cert, key } : {}),
      // An address is no server name (RFC 6066); the certificate is still checked against it.
      servername: servername ?? (/^[\d.]+$|:/.test(name) ? "" : name),
      rejectUnauthorized: insecureSkipVerify !== true,
      ALPNProtocols: ["http/1.1"],
    } as https.RequestOptions;
  }

  #agentOptions(): http.AgentOptions {
    return {
      keepAlive: true,
      scheduling: "lifo",
      maxFreeSockets: 8,
      ...(this.options.maxConnections ? { maxSockets: this.options.maxConnections } : {}),
    };
  }

  /** A connection that is not shared needs an agent only to run over a stream of its own. */
  #agent(isSecure: boolean, alone: boolean): http.Agent | false {
    if (!alone) return isSecure ? this.#secureAgent() : this.#plainAgent();
    return this.options.connect ? overStreams(this.options.connect, { keepAlive: false }) : false;
  }

  #plainAgent(): http.Agent {
    this.#plain ??= new http.Agent(this.#agentOptions());
    return this.#plain;
  }

  #secureAgent(): https.Agent {
    const options = { ...this.#agentOptions(), maxCachedSessions: 8 };
    this.#secure ??= this.options.connect ? overStreams(this.options.connect, options) : new https.Agent(options);
    return this.#secure;
  }
}

/** An agent whose connections are TLS over streams that `connect` makes. */
function overStreams(connect: NonNullable<HttpClientOptions["connect"]>, options: https.AgentOptions): https.Agent {
  const createConnection = callbackify(async (wish: tls.ConnectionOptions) =>
    tls.connect({ ...wish, socket: await connect({ host: wish.host ?? "", port: Number(wish.port) }) }),
  );
  return Object.assign(new https.Agent(options), { createConnection });
}

interface Outgoing {
  readonly request: Request;
  readonly body: OutgoingBody;
  readonly lines: HeaderLines;
}

function exchange(
  connections: Connections,
  { request, body, lines }: Outgoing,
  fresh?: "new connection",
): Promise<Response> {
  const url = new URL(request.url);
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const { signal } = request;
  if (signal.aborted) throw signal.reason;
  const { send, options } = connections.requestTo(url, fresh !== undefined);
  const headers = withGroups(Object.fromEntries(request.headers));
  Object.assign(headers, linesToSend(lines));
  headers["host"] ??= url.host;
  if (body.length !== undefined && (body.length > 0 || !/^(GET|HEAD|DELETE)$/.test(request.method)))
    headers["content-length"] = String(body.length);
  const outgoing = send({ ...options, method: request.method, headers });
  const onAbort = () => {
    outgoing.destroy(signal.reason as Error);
    // Waited for in vain: what was kept from before may lead nowhere too.
    connections.dropIdle();
    // Not every runtime tells of the end of a request on a connection that is silent.
    reject(signal.reason);
  };
  signal.addEventListener("abort", onAbort, { once: true });
  limitConnecting(outgoing, url, connections.options.connectTimeoutMs);
  limitAnswer(outgoing, url, connections.options.answerTimeoutMs, (fault) => {
    connections.dropIdle();
    reject(fault);
  });
  outgoing.on("close", () => signal.removeEventListener("abort", onAbort));
  outgoing.on("error", (error: NodeJS.ErrnoException) => {
    if (signal.aborted) reject(signal.reason);
    else if (outgoing.reusedSocket && isReset(error) && fresh === undefined)
      reject(new StaleConnection("stale", { cause: describeError(error, url, connections.options) }));
    else reject(describeError(error, url, connections.options));
  });
  outgoing.on("response", (incoming) => resolve(responseOf(incoming, request, signal)));
  body.send(outgoing);
  return promise;
}

/** In UTF-8, as Go sends them: Node writes a byte for each character, Deno encodes by itself. */
function linesToSend(lines: HeaderLines): Record<string, string[]> {
  const encode = (text: string) => (runtime.name === "deno" ? text : Buffer.from(text, "utf8").toString("latin1"));
  return Object.fromEntries(Object.entries(lines).map(([name, values]) => [name.toLowerCase(), values.map(encode)]));
}

/** Groups to impersonate are one header each on the wire, while Headers joins what is repeated; whoever sets them allows no comma in one. */
function withGroups(headers: Record<string, string | string[]>): Record<string, string | string[]> {
  const groups = headers["impersonate-group"];
  if (typeof groups === "string") headers["impersonate-group"] = groups.split(", ");
  return headers;
}

/** The bounds on connecting end with the connection: a slow answer is the caller's to bound. */
function limitConnecting(outgoing: http.ClientRequest, url: URL, timeoutMs = defaultConnectTimeoutMs): void {
  outgoing.once("socket", (socket: Socket) => {
    socket.setNoDelay(true);
    socket.setKeepAlive(true, keepAliveProbeMs);
    if (outgoing.reusedSocket) return;
    const timer = setTimeout(() => {
      outgoing.destroy(new Fault("timeout", `Cannot connect to ${url.host}: no connection within ${timeoutMs} ms`));
    }, timeoutMs);
    const done = () => clearTimeout(timer);
    socket.once(url.protocol === "https:" ? "secureConnect" : "connect", done);
    outgoing.once("close", done);
    outgoing.once("response", done);
  });
}

function limitAnswer(
  outgoing: http.ClientRequest,
  url: URL,
  timeoutMs: number | undefined,
  onTimeout: (fault: Fault) => void,
): void {
  if (!timeoutMs) return;
  const timer = setTimeout(() => {
    const fault = new Fault("timeout", `${url.host} did not answer within ${timeoutMs / 1000} s`);
    onTimeout(fault);
    outgoing.destroy(fault);
  }, timeoutMs);
  for (const event of ["close", "response"]) outgoing.once(event, () => clearTimeout(timer));
}

function isReset(error: NodeJS.ErrnoException): boolean {
  return error.code === "ECONNRESET" || error.code === "EPIPE" || error.message === "socket hang up";
}

function describeError(error: NodeJS.ErrnoException, url: URL, { socketPath }: HttpClientOptions): Fault {
  const place = socketPath ?? url.host;
  if (error.code === "ECONNREFUSED" || error.code === "ENOENT")
    return new Fault("unavailable", `Cannot connect to ${place}: nothing listens there`, { cause: error });
  if (error.code === "EACCES")
    return new Fault("forbidden", `Cannot connect to ${place}: permission denied`, { cause: error });
  if (error.code === "ENOTFOUND" || error.code === "EAI_AGAIN")
    return new Fault("unavailable", `Cannot connect to ${place}: the name ${url.hostname} cannot be resolved`, {
      cause: error,
    });
  if (isNameMismatch(error))
    return new Fault("unavailable", `Cannot connect to ${place}: its certificate is not valid for ${url.hostname}`, {
      cause: error,
      details: { certificateNotFor: url.hostname } satisfies CertificateMismatch,
    });
  return toFault(error, `Request to ${place} failed`, "unavailable");
}

/** The details of the Fault for a server whose certificate has other names and addresses than the one it was asked by. */
export interface CertificateMismatch {
  readonly certificateNotFor: string;
}

/** Deno has no code for it. */
function isNameMismatch({ code, message }: NodeJS.ErrnoException): boolean {
  return code === "ERR_TLS_CERT_ALTNAME_INVALID" || /not valid for name|NotValidForName/.test(message);
}

const bodiless = new Set([204, 205, 304]);

function responseOf(incoming: http.IncomingMessage, request: Request, signal: AbortSignal): Response {
  const status = incoming.statusCode ?? 500;
  const headers = new Headers();
  for (let i = 0; i + 1 < incoming.rawHeaders.length; i += 2)
    headers.append(incoming.rawHeaders[i] ?? "", incoming.rawHeaders[i + 1] ?? "");
  const statusText = incoming.statusMessage ?? "";
  if (bodiless.has(status) || request.method === "HEAD") {
    incoming.resume();
    return new Response(null, { status, headers, statusText });
  }
  return new Response(bodyOf(incoming, signal), { status, headers, statusText });
}

function upgrade(connections: Connections, request: UpgradeRequest, call: Call): Promise<UpgradeResult> {
  const url = new URL(request.url);
  const { promise, resolve, reject } = Promise.withResolvers<UpgradeResult>();
  const { signal } = call;
  if (signal.aborted) throw signal.reason;
  const { send, options } = connections.requestTo(url, true);
  const outgoing = send({
    ...options,
    method: request.method ?? "GET",
    headers: { host: url.host, ...request.headers, ...linesToSend(request.lines ?? {}) },
  });
  const onAbort = () => void outgoing.destroy(signal.reason as Error);
  signal.addEventListener("abort", onAbort, { once: true });
  limitConnecting(outgoing, url, connections.options.connectTimeoutMs);
  outgoing.on("close", () => signal.removeEventListener("abort", onAbort));
  outgoing.on("error", (error) =>
    reject(signal.aborted ? signal.reason : describeError(error, url, connections.options)),
  );
  outgoing.on("upgrade", (incoming, socket, head) => {
    signal.removeEventListener("abort", onAbort);
    resolve({ upgraded: true, socket, head, headers: incoming.headers });
  });
  outgoing.on("response", (incoming) => {
    const described = new Request(request.url, { method: request.method ?? "GET" });
    resolve({ upgraded: false, response: responseOf(incoming, described, signal) });
  });
  outgoing.end();
  return promise;
}
