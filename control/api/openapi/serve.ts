// Answers /openapi/v3 and /openapi/v2 from the documents that the set-up made; custom resources and other servers add theirs.

import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import type { UserInfo } from "../../../plugins/kit/kube/user-info.ts";
import { passToRemote } from "../aggregation/pass.ts";
import type { RemoteDocuments } from "../aggregation/remote-documents.ts";
import { type Answer, bytesAnswer, jsonAnswer } from "../../machinery/answer.ts";
import { parseMediaType } from "../media-type.ts";
import type { ApiRequest } from "../../machinery/request.ts";
import { encodeV2 } from "./gnostic.ts";
import { SharedBytes } from "./shared-bytes.ts";

/** Documents made at run time: by path (`apis/example.com/v1`), with whatever tells one state of it from another. */
export interface CustomDocuments {
  paths(): Map<string, string>;
  document(path: string): unknown;
  /** What stands in v2 beside the built-in. */
  addedToV2(): { paths: Record<string, unknown>; definitions: Record<string, unknown> };
}

// Clients ask for `…v2@v1.0+protobuf`, which Go itself refuses to parse in an answer; upstream answers with a dot.
const v2Protobuf = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

export class OpenApi {
  readonly #folder: string;
  readonly #custom: CustomDocuments;
  readonly #remote: RemoteDocuments;
  readonly #shared = new SharedBytes();
  #index: Record<string, string> | undefined;

  constructor(folder: string, custom: CustomDocuments, remote: RemoteDocuments) {
    this.#folder = folder;
    this.#custom = custom;
    this.#remote = remote;
  }

  /** Undefined for other paths, and for documents that are not there. */
  answer(request: ApiRequest, user: UserInfo): Answer | Promise<Answer> | undefined {
    const { path } = request;
    if (path === "/openapi/v3" || path === "/openapi/v3/") return this.#root();
    if (path.startsWith("/openapi/v3/")) {
      const wanted = decodeURIComponent(path.slice(12));
      const remote = this.#remote.find(wanted);
      if (remote) return passToRemote(remote, request, user, { signal: request.signal });
      return this.#version3(request, wanted);
    }
    if (path !== "/openapi/v2") return undefined;
    const answer = this.#version2(request);
    return answer instanceof Promise ? answer.then((made) => tagged(request, made)) : answer && tagged(request, answer);
  }

  #builtins(): Record<string, string> {
    if (!this.#index) {
      const file = join(this.#folder, "index.json");
      this.#index = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Record<string, string>) : {};
    }
    return this.#index;
  }

  /** What tells one state of a document from another, by its path. */
  #hashes(): Map<string, string> {
    const hashes = new Map(Object.entries(this.#builtins()));
    for (const [path, state] of this.#custom.paths()) hashes.set(path, hashOf(state + (hashes.get(path) ?? "")));
    return hashes;
  }

  #root(): Answer {
    const hashes = this.#hashes();
    for (const [path, hash] of this.#remote.paths()) hashes.set(path, hash);
    const paths = Object.fromEntries(
      [...hashes].map(([path, hash]) => [path, { serverRelativeURL: `/openapi/v3/${path}?hash=${hash}` }]),
    );
    return jsonAnswer({ paths });
  }

  #version3(request: ApiRequest, path: string): Answer | undefined {
    const hash = this.#hashes().get(path);
    if (!hash) return undefined;
    const asked = request.query.get("hash");
    const headers = { etag: `"${hash}"`, vary: "Accept-Encoding, Accept", "cache-control": "no-cache, private" };
    // Who asks for a state that is gone is sent to the one that is.
    if (asked && asked !== hash)
      return { status: 301, headers: { ...headers, location: `/openapi/v3/${path}?hash=${hash}` }, body: undefined };
    if (asked) headers["cache-control"] = "public, immutable";
    if (isKnown(request, headers.etag)) return { status: 304, headers, body: undefined };
    const answer = this.#custom.paths().has(path)
      ? jsonAnswer(this.#custom.document(path))
      : this.#file(request, `v3-${path.replaceAll("/", "_")}.json.gz`, "application/json");
    if (answer) Object.assign(answer.headers, headers);
    return answer;
  }

  #version2(request: ApiRequest): Answer | Promise<Answer> | undefined {
    const types = (request.headers.get("accept") ?? "").split(",").map((one) => parseMediaType(one).type);
    const asProtobuf = types.some((type) => type.includes("proto-openapi.spec.v2"));
    const name = asProtobuf ? "v2.pb.gz" : "v2.json.gz";
    const type = asProtobuf ? v2Protobuf : "application/json";
    const file = join(this.#folder, name);
    const isPlain = this.#custom.paths().size === 0 && this.#remote.isEmpty;
    if (isPlain || !existsSync(file)) return this.#file(request, name, type);
    const answer = (added: ReturnType<CustomDocuments["addedToV2"]>) => {
      const builtin = this.#unzipped(name);
      const body = asProtobuf ? [builtin, encodeV2(added)] : Buffer.from(withAdded(builtin.toString("utf8"), added));
      return bytesAnswer(body, 200, type);
    };
    if (this.#remote.isEmpty) {
      const state = JSON.stringify([...this.#custom.paths()]);
      const made = () => bytesOf(answer(this.#custom.addedToV2()));
      return bytesAnswer(this.#shared.get(`${name} ${hashOf(state)}`, made), 200, type);
    }
    const own = this.#custom.addedToV2();
    return this.#remote
      .addedToV2({ signal: request.signal })
      .then(({ paths, definitions }) =>
        answer({ paths: { ...paths, ...own.paths }, definitions: { ...definitions, ...own.definitions } }),
      );
  }

  #zipped(name: string): Buffer {
    return this.#shared.get(name, () => readFileSync(join(this.#folder, name)));
  }

  #unzipped(name: string): Buffer {
    return this.#shared.get(`${name} unzipped`, () => gunzipSync(this.#zipped(name)));
  }

  /** The files are kept compressed and mostly sent so; they are read when asked for, which is rare. */
  #file(request: ApiRequest, name: string, type: string): Answer | undefined {
    const file = join(this.#folder, name);
    if (!existsSync(file)) return undefined;
    const takesZipped = (request.headers.get("accept-encoding") ?? "").includes("gzip");
    const answer = bytesAnswer(takesZipped ? this.#zipped(name) : this.#unzipped(name), 200, type);
    if (takesZipped) answer.headers["content-encoding"] = "gzip";
    answer.headers.vary = "Accept-Encoding, Accept";
    return answer;
  }
}

/** With a tag of its content; without the content for who has it already. */
function tagged(request: ApiRequest, answer: Answer): Answer {
  const hash = createHash("sha512");
  for (const part of Array.isArray(answer.body) ? (answer.body as readonly Uint8Array[]) : [answer.body])
    if (typeof part === "string" || part instanceof Uint8Array) hash.update(part);
  const etag = `"${hash.digest("hex").toUpperCase()}"`;
  Object.assign(answer.headers, { etag, vary: "Accept-Encoding, Accept" });
  if (!isKnown(request, etag)) return answer;
  const { "content-type": _type, "content-encoding": _encoding, ...headers } = answer.headers;
  return { status: 304, headers, body: undefined };
}

function isKnown(request: ApiRequest, etag: string): boolean {
  const known = (request.headers.get("if-none-match") ?? "").split(",").map((one) => one.trim().replace(/^W\//, ""));
  return known.includes(etag) || known.includes("*");
}

/** The generated document begins with its paths behind a short head, and ends with its definitions: both are added to as text. */
function withAdded(document: string, added: ReturnType<CustomDocuments["addedToV2"]>): string {
  const mark = '"paths":{';
  const pathsAt = document.indexOf(mark) + mark.length;
  const paths = Object.entries(added.paths).map(field);
  const definitions = Object.entries(added.definitions).map(field);
  const before = paths.map((text) => `${text},`).join("");
  const behind = definitions.map((text) => `,${text}`).join("");
  return `${document.slice(0, pathsAt)}${before}${document.slice(pathsAt, -2)}${behind}}}`;
}

const field = ([name, value]: [string, unknown]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`;

function bytesOf({ body }: Answer): Buffer {
  return Array.isArray(body) ? Buffer.concat(body as readonly Uint8Array[]) : (body as Buffer);
}

function hashOf(text: string): string {
  return createHash("sha512").update(text).digest("hex").toUpperCase();
}
