// A small OCI registry on loopback for tests, with faults to inject. Read-only over the wire; tests add images in process.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { sha256, type TestImage } from "./image-builder.ts";

export interface RegistryFaults {
  /** Breaks the connection after this many bytes of a blob, the first `times` times. */
  breakBlob?: { afterBytes: number; times: number };
  /** Sends other bytes than the digest says. */
  corruptBlobs?: boolean;
  /** Answers 401 with a challenge whatever is sent. */
  unauthorizedAlways?: boolean;
  /** Answers 429 the first `times` times, with Retry-After. */
  rateLimit?: { times: number; retryAfter?: string };
  /** Answers 503 the first `times` times. */
  busy?: { times: number };
  /** Sends blobs from this origin instead. */
  redirectBlobsTo?: string;
  /** Redirects to itself without end. */
  redirectLoop?: boolean;
  /** Ignores Range headers. */
  noRanges?: boolean;
  /** Says nothing at all to requests of this path, the first `times` times; the connection stays. */
  mute?: { path: RegExp; times: number };
  /** Sends no more than so many bytes of a blob, the first `times` times; the connection stays. */
  stallBlob?: { afterBytes: number; times: number };
  /** A blob is sent to the next of these offsets at a time, and then no more comes. */
  stallAt?: readonly number[];
  /** Holds blobs back until the promise resolves, after the first bytes. */
  slow?: Promise<void>;
}

export interface RegistryOptions {
  /** Users by name, with passwords; asked for by basic authentication or through the token service. */
  users?: Record<string, string>;
  /** "token" sends clients to this registry's own token service. */
  auth?: "basic" | "token";
  /** PEM; plain HTTP where absent. */
  tls?: { cert: string; key: string };
}

interface SeenRequest {
  method: string;
  path: string;
  authorization: string | undefined;
  range: string | undefined;
}

export class TestRegistry {
  readonly faults: RegistryFaults = {};
  readonly requests: SeenRequest[] = [];
  readonly #blobs = new Map<string, Buffer>();
  /** By `repository:tag` and `repository@digest`. */
  readonly #manifests = new Map<string, Buffer>();
  readonly #options: RegistryOptions;
  readonly #server: Server;
  readonly #tokens = new Set<string>();

  private constructor(options: RegistryOptions) {
    this.#options = options;
    const serve = (request: IncomingMessage, response: ServerResponse) => {
      this.#serve(request, response).catch(() => response.destroy());
    };
    this.#server = options.tls ? createSecureServer(options.tls, serve) : createServer(serve);
  }

  static async start(options: RegistryOptions = {}): Promise<TestRegistry> {
    const registry = new TestRegistry(options);
    await new Promise<void>((resolve) => registry.#server.listen(0, "127.0.0.1", resolve));
    return registry;
  }

  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    // A client may hold on to one that was told to stall.
    this.#server.closeAllConnections();
    await closed;
  }

  addBlob(bytes: Buffer): void {
    this.#blobs.set(sha256(bytes), bytes);
  }

  /** Returns the reference to pull. */
  add(repository: string, tag: string, image: TestImage): string {
    for (const layer of image.layers) this.#blobs.set(layer.digest, layer.blob);
    this.#blobs.set(image.configDigest, image.config);
    return this.addManifest(repository, tag, image.manifest);
  }

  addManifest(repository: string, tag: string, manifest: Buffer): string {
    this.#manifests.set(`${repository}@${sha256(manifest)}`, manifest);
    this.#manifests.set(`${repository}:${tag}`, manifest);
    return `${this.host}/${repository}:${tag}`;
  }

  /** An index over images by platform. */
  addIndex(repository: string, tag: string, images: { image: TestImage; platform: Record<string, string> }[]): string {
    for (const { image } of images) this.add(repository, `part-${image.digest.slice(7, 19)}`, image);
    const manifests = images.map(({ image, platform }) => ({
      mediaType: "application/vnd.oci.image.manifest.v1+json",
      digest: image.digest,
      size: image.manifest.length,
      platform,
    }));
    const mediaType = "application/vnd.oci.image.index.v1+json";
    return this.addManifest(repository, tag, Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType, manifests })));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", `http://${this.host}`);
    const { authorization, range } = request.headers;
    this.requests.push({ method: request.method ?? "", path: url.pathname, authorization, range });
    const { mute } = this.faults;
    if (mute && mute.times > 0 && mute.path.test(url.pathname)) return void mute.times--;
    if (url.pathname === "/token") return this.#token(authorization, response);
    if (!this.#admit(authorization, response)) return;
    if (this.#stumble(response)) return;
    const found = /^\/v2\/(.+)\/(manifests|blobs)\/([^/]+)$/.exec(url.pathname);
    if (!found) return void response.writeHead(url.pathname === "/v2/" ? 200 : 404).end();
    const [, repository, kind, name] = found as unknown as [string, string, string, string];
    if (kind === "blobs") return this.#blob(url, name, range, response);
    const manifest = this.#manifests.get(
      name.startsWith("sha256:") ? `${repository}@${name}` : `${repository}:${name}`,
    );
    if (!manifest) return void response.writeHead(404).end();
    const { mediaType } = JSON.parse(manifest.toString()) as { mediaType?: string };
    response.writeHead(200, {
      "content-type": mediaType ?? "application/json",
      "content-length": manifest.length,
      "docker-content-digest": sha256(manifest),
    });
    response.end(manifest);
  }

  #isUser(authorization: string | undefined): boolean {
    const [name = "", password] = Buffer.from(authorization?.replace(/^Basic /, "") ?? "", "base64")
      .toString()
      .split(":");
    return this.#options.users !== undefined && this.#options.users[name] === password && password !== undefined;
  }

  #token(authorization: string | undefined, response: ServerResponse): void {
    if (this.#options.users && !this.#isUser(authorization)) return void response.writeHead(401).end();
    const token = `token-${this.#tokens.size + 1}`;
    this.#tokens.add(token);
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ token, expires_in: 300 }));
  }

  #admit(authorization: string | undefined, response: ServerResponse): boolean {
    const { auth, users } = this.#options;
    if (!this.faults.unauthorizedAlways) {
      if (auth === undefined && users === undefined) return true;
      if (auth === "token" && this.#tokens.has(authorization?.replace(/^Bearer /, "") ?? "")) return true;
      if (auth !== "token" && this.#isUser(authorization)) return true;
    }
    const challenge =
      auth === "token" || this.faults.unauthorizedAlways
        ? `Bearer realm="http://${this.host}/token",service="test",scope="repository:any:pull"`
        : 'Basic realm="test"';
    response.writeHead(401, { "www-authenticate": challenge }).end();
    return false;
  }

  #stumble(response: ServerResponse): boolean {
    const { rateLimit, busy } = this.faults;
    if (rateLimit && rateLimit.times > 0) {
      rateLimit.times--;
      response.writeHead(429, { "retry-after": rateLimit.retryAfter ?? "0" }).end();
      return true;
    }
    if (busy && busy.times > 0) {
      busy.times--;
      response.writeHead(503).end();
      return true;
    }
    return false;
  }

  async #blob(url: URL, digest: string, range: string | undefined, response: ServerResponse): Promise<void> {
    const { faults } = this;
    if (faults.redirectLoop) return void response.writeHead(307, { location: url.pathname }).end();
    if (faults.redirectBlobsTo) {
      return void response.writeHead(307, { location: `${faults.redirectBlobsTo}${url.pathname}` }).end();
    }
    let bytes = this.#blobs.get(digest);
    if (!bytes) return void response.writeHead(404).end();
    if (faults.corruptBlobs) {
      bytes = Buffer.from(bytes);
      bytes[bytes.length - 1] = (bytes[bytes.length - 1] ?? 0) ^ 0xff;
    }
    const from = faults.noRanges ? 0 : Number(/^bytes=(\d+)-$/.exec(range ?? "")?.[1] ?? 0);
    const body = bytes.subarray(from);
    response.writeHead(from > 0 ? 206 : 200, { "content-length": body.length });
    if (faults.breakBlob && faults.breakBlob.times > 0 && body.length > faults.breakBlob.afterBytes) {
      faults.breakBlob.times--;
      const { afterBytes } = faults.breakBlob;
      response.write(body.subarray(0, afterBytes), () => setImmediate(() => response.destroy()));
      return;
    }
    if (faults.stallBlob && faults.stallBlob.times > 0 && body.length > faults.stallBlob.afterBytes) {
      faults.stallBlob.times--;
      response.write(body.subarray(0, faults.stallBlob.afterBytes));
      return;
    }
    const stopAt = faults.stallAt?.find((offset) => offset > from);
    if (stopAt !== undefined) return void response.write(bytes.subarray(from, stopAt));
    if (faults.slow) {
      response.write(body.subarray(0, 1));
      await faults.slow;
      response.end(body.subarray(1));
      return;
    }
    response.end(body);
  }
}
