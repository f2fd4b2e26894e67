// The server seam: serves `(Request) -> Response` handlers and raw connection upgrades, with the peer's certificate,
// over TLS (HTTP/1.1 and HTTP/2 on one port), plain TCP or a unix socket, the same on both runtimes.

import http from "node:http";
import http2 from "node:http2";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { setImmediate } from "node:timers";
import type { PeerCertificate, TLSSocket } from "node:tls";
import { Turns } from "../../base/turns.ts";
import { parseCertificate } from "../x509/certificate.ts";
import { HttpConnections } from "./http-connections.ts";
import { awaitRest } from "./http-patience.ts";
import { type Outgoing, sendResponse } from "./http-response.ts";
import { listen, type ListenAddress } from "./listen.ts";
import { runtime } from "./runtime.ts";
import { type Incoming, ServedRequest } from "./served-request.ts";
import { defaultWriteLimits, type WriteLimits } from "./write-timeout.ts";

export interface Peer {
  readonly address: string;
  /** Set only when the client's certificate was verified against the CA: never trust the subject of any other. */
  readonly certificate?: {
    readonly commonName: string;
    readonly organizations: readonly string[];
    readonly fingerprint256: string;
    /** Its end, by wall time in milliseconds. */
    readonly endsAt: number;
  };
}

export type Handler = (request: Request, peer: Peer) => Response | Promise<Response>;

/** A connection that asked to stop being HTTP. The handler owns the socket from here, and answers on it even to refuse. */
export interface Upgrade {
  readonly request: http.IncomingMessage;
  readonly socket: Duplex;
  /** Bytes that arrived behind the request's head. */
  readonly head: Buffer;
  readonly peer: Peer;
}

export interface ServeOptions {
  readonly handler: Handler;
  readonly upgrade?: (upgrade: Upgrade) => void;
  readonly listen: ListenAddress;
  /** The flag that chooses the port, for the message when it is in use. */
  readonly portFlag?: string;
  readonly tls?: {
    readonly cert: string;
    readonly key: string;
    /** Asks for client certificates of this authority; clients without one still connect, as nobody. */
    readonly clientCa?: string;
  };
  /** A client that has not finished its request head by then is cut off. */
  readonly headersTimeoutMs?: number;
  /** The same for its TLS handshake. */
  readonly handshakeTimeoutMs?: number;
  /** A client that has not read its answer by then, and some more time for a large one, is cut off. */
  readonly writeLimits?: WriteLimits;
  /** Requests at the same time on one HTTP/2 connection; 250 as Go's servers unless told otherwise. */
  readonly maxConcurrentStreams?: number;
  readonly onError?: (error: unknown) => void;
}

export interface RunningServer {
  /** The port really bound; 0 for a unix socket. */
  readonly port: number;
  /** Uses another certificate for connections from now on. */
  setCertificate(tls: { cert: string; key: string; clientCa?: string }): void;
  /** Stops listening, lets requests end for `graceMs`, then cuts every connection. */
  close(graceMs?: number): Promise<void>;
}

type NodeServer = http.Server | http2.Http2SecureServer;
type Listener = (incoming: Incoming, outgoing: Outgoing) => void;

const keepAliveMs = 120_000;
/** What Go's servers take. A command to run in a container stands in the address, and may be long. */
const maxHeaderSize = 1024 * 1024;
/** Deno drops header lines after this many: one that asks to impersonate among them, and the request would run as the real user. */
const mostHeaderLines = 1000;
/** Reading such a target, and the query in it, takes milliseconds. */
const largeTarget = 16 * 1024;
const largeTargets = new Turns();
const nobody: Peer = { address: "" };
const peers = new WeakMap<object, Peer>();

export async function serve(options: ServeOptions): Promise<RunningServer> {
  const onError = options.onError ?? (() => {});
  const patience = { firstRequestMs: headersTimeoutOf(options), idleMs: keepAliveMs };
  const connections = new HttpConnections(patience);
  const sending = { onError, limits: options.writeLimits ?? defaultWriteLimits };
  const handle: Listener = (incoming, outgoing) => {
    const request = requestOf(incoming);
    const end = connections.begin(incoming.socket);
    outgoing.once("close", () => {
      if (!outgoing.writableFinished || (incoming as { aborted?: boolean }).aborted) request?.gone();
      end?.();
    });
    // Neither rejects: what fails is told to `onError`.
    void (request ? answer(options, request, peerOf(socketOf(incoming)), onError) : refusal(incoming))
      .then((response) => sendResponse(response, outgoing, sending))
      .then(() => {
        if (!incoming.complete) awaitRest(incoming, patience);
      });
  };
  const listener: Listener = (incoming, outgoing) => {
    const { stream } = outgoing as { stream?: http2.ServerHttp2Stream };
    if ((incoming.url ?? "").length > largeTarget) {
      void largeTargets.take().then(() => {
        if (!outgoing.destroyed && !stream?.closed) handle(incoming, outgoing);
      });
      return;
    }
    if (!stream) return handle(incoming, outgoing);
    // A stream that is reset right behind its request costs no work: the reset is known once all that came with it was looked at.
    setImmediate(() => {
      if (!stream.closed && !stream.destroyed) handle(incoming, outgoing);
    });
  };
  const server = makeServer(options, listener);
  connections.follow(server, options.tls !== undefined);
  server.on("upgrade", (request: http.IncomingMessage, socket: Duplex, head: Buffer) => {
    if (!options.upgrade || mayLackHeaders(request)) {
      const status = mayLackHeaders(request) ? "431 Request Header Fields Too Large" : "400 Bad Request";
      return socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
    }
    connections.upgraded(socket);
    options.upgrade({ request, socket, head, peer: peerOf(socket) });
  });
  await listen(server, options.listen, options.portFlag);
  return {
    port: "port" in options.listen ? (server.address() as AddressInfo).port : 0,
    setCertificate({ cert, key, clientCa }) {
      (server as http2.Http2SecureServer).setSecureContext({ cert, key, ...(clientCa ? { ca: clientCa } : {}) });
    },
    async close(graceMs = 0) {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      connections.closeIdle();
      const timer = setTimeout(() => connections.closeAll(), graceMs);
      await closed;
      clearTimeout(timer);
    },
  };
}

/** Undefined where the request cannot be made sense of. */
function requestOf(incoming: Incoming): ServedRequest | undefined {
  if (mayLackHeaders(incoming)) return undefined;
  try {
    return new ServedRequest(incoming);
  } catch {
    // The client is told so; a fault of its own is nothing to report.
    return undefined;
  }
}

async function refusal(incoming: Incoming): Promise<Response> {
  if (mayLackHeaders(incoming)) return new Response("too many request headers\n", { status: 431 });
  return new Response("bad request\n", { status: 400 });
}

const mayLackHeaders = ({ rawHeaders }: Pick<Incoming, "rawHeaders">) => rawHeaders.length >= 2 * mostHeaderLines;

async function answer(
  options: ServeOptions,
  request: Request,
  peer: Peer,
  onError: (error: unknown) => void,
): Promise<Response> {
  try {
    return await options.handler(request, peer);
  } catch (error) {
    onError(error);
    return new Response("internal error\n", { status: 500 });
  }
}

/** The connection below a request; HTTP/2 hides it behind its session. */
function socketOf(incoming: Incoming): object | undefined {
  const { stream } = incoming as { stream?: http2.ServerHttp2Stream };
  return stream?.session?.socket ?? incoming.socket;
}

function headersTimeoutOf(options: ServeOptions): number {
  return options.headersTimeoutMs ?? 20_000;
}

function makeServer(options: ServeOptions, listener: Listener): NodeServer {
  const headersTimeout = headersTimeoutOf(options);
  const limits = {
    headersTimeout,
    requestTimeout: 0,
    // Clients keep connections for reuse; one closed under a request just sent looks like a failure to them.
    keepAliveTimeout: keepAliveMs,
    // How often connections are looked at: the time-out is kept to within this.
    connectionsCheckingInterval: Math.min(5000, headersTimeout),
    maxHeaderSize,
  };
  if (!options.tls) return http.createServer(limits, listener);
  const { cert, key, clientCa } = options.tls;
  const secure = clientCa ? { ca: clientCa, requestCert: true, rejectUnauthorized: false } : {};
  // Deno 2.9 takes HTTP/2 bodies faster than their reader does and keeps the rest in memory; one slow watch would fill it.
  const protocols = runtime.name === "deno" ? { ALPNProtocols: ["http/1.1"] } : {};
  const server = http2.createSecureServer(
    {
      cert,
      key,
      minVersion: "TLSv1.2",
      ciphers: strongCiphers,
      allowHTTP1: true,
      handshakeTimeout: options.handshakeTimeoutMs ?? 10_000,
      ...limits,
      ...sessionLimits(options),
      ...protocols,
      ...secure,
    },
    listener,
  );
  Object.assign(server, limits);
  return server;
}

/**
 * What one HTTP/2 connection may ask of us. Floods of PING, SETTINGS, CONTINUATION, PRIORITY and empty frames are ended by the
 * runtime's own limits; a stream that is opened and reset at once costs us a request, so that there are fewer of those.
 */
function sessionLimits({ maxConcurrentStreams = 250 }: ServeOptions) {
  return {
    settings: { maxConcurrentStreams, maxHeaderListSize: maxHeaderSize },
    maxHeaderListPairs: 1000,
    streamResetBurst: 400,
    streamResetRate: 33,
  };
}

/** Of TLS 1.2 only what keeps past traffic secret when the key is lost, and authenticates what it encrypts; TLS 1.3 has no others. */
const strongCiphers = [
  "TLS_AES_128_GCM_SHA256",
  "TLS_AES_256_GCM_SHA384",
  "TLS_CHACHA20_POLY1305_SHA256",
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-CHACHA20-POLY1305",
  "ECDHE-RSA-CHACHA20-POLY1305",
].join(":");

function peerOf(socket: object | undefined | null): Peer {
  if (!socket) return nobody;
  const known = peers.get(socket);
  if (known) return known;
  const tls = socket as TLSSocket;
  // A listener of both families writes IPv4 addresses in IPv6's notation.
  const peer: Peer = {
    address: (tls.remoteAddress ?? "").replace(/^::ffff:(?=\d+\.)/, ""),
    ...verifiedCertificate(tls),
  };
  peers.set(socket, peer);
  return peer;
}

function verifiedCertificate(socket: TLSSocket): Pick<Peer, "certificate"> {
  if (socket.authorized !== true) return {};
  const certificate = socket.getPeerCertificate() as PeerCertificate | undefined;
  if (!certificate?.raw) return {};
  // Read from the bytes: what the runtimes make of repeated and odd names differs.
  const { commonName, organizations, notAfter } = parseCertificate(certificate.raw);
  const { fingerprint256 } = certificate;
  return { certificate: { commonName, organizations, fingerprint256, endsAt: notAfter } };
}
