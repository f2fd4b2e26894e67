// Answers /api, /apis and what lies directly below: which groups, versions and resources are served.

import { createHash } from "node:crypto";
import { type Answer, bytesAnswer, pageNotFound } from "../../machinery/answer.ts";
import { parseMediaType } from "../media-type.ts";
import type { Registry } from "../registry.ts";
import type { ApiRequest } from "../../machinery/request.ts";
import { methodNotAllowed, unknownPath } from "../../machinery/status.ts";
import type { SubresourceHandler } from "../subresources.ts";
import type { Remotes } from "../aggregation/remotes.ts";
import type { Services } from "../scope.ts";
import { aggregated } from "./aggregated.ts";
import { type CatalogGroup, catalogOf } from "./catalog.ts";
import { resourceList } from "./resource-list.ts";

interface Made {
  body: string;
  etag: string;
}

export class Discovery {
  readonly #registry: Registry;
  readonly #remotes: Remotes;
  readonly #handlers: ReadonlyMap<string, SubresourceHandler>;
  readonly #serverAddress: () => string;
  /** Answers are kept until a definition comes or goes. */
  #made = new Map<string, Made>();
  #madeFor = "";
  #catalog: readonly CatalogGroup[] = [];

  constructor(
    { registry, subresources }: Pick<Services, "registry" | "subresources">,
    remotes: Remotes,
    serverAddress: () => string,
  ) {
    this.#registry = registry;
    this.#remotes = remotes;
    this.#handlers = subresources;
    this.#serverAddress = serverAddress;
  }

  /** Undefined for paths that are none of discovery's. */
  answer(request: ApiRequest): Answer | undefined {
    const parts = request.path.split("/").filter((part) => part !== "");
    const [root, first, second] = parts;
    if (root === undefined) return this.#paths(request);
    if (root !== "api" && root !== "apis") return undefined;
    if (request.method !== "GET" && request.method !== "HEAD") throw methodNotAllowed();
    if (parts.length === 1) return this.#root(request, root);
    if (root === "api" && parts.length === 2) return this.#version(request, "", first ?? "");
    if (root === "apis" && parts.length === 2) return this.#group(request, first ?? "");
    if (root === "apis" && parts.length === 3) return this.#version(request, first ?? "", second ?? "");
    return undefined;
  }

  /** GET /: what there is to ask for. */
  #paths(request: ApiRequest): Answer {
    return this.#send(request, "paths", "application/json", () => ({
      paths: [
        "/api",
        "/apis",
        ...this.#groups().flatMap(({ name, versions }) =>
          versions.map(({ version }) => (name === "" ? `/api/${version}` : `/apis/${name}/${version}`)),
        ),
        "/healthz",
        "/livez",
        "/metrics",
        "/metrics/slis",
        "/openapi/v2",
        "/openapi/v3",
        "/readyz",
        "/version",
      ].sort(),
    }));
  }

  #root(request: ApiRequest, root: "api" | "apis"): Answer {
    const version = aggregatedVersion(request.headers.get("accept"));
    if (version) {
      const type = `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
      return this.#send(request, `${root}:${version}`, type, () =>
        aggregated(this.#groups(), this.#handlers, root, version),
      );
    }
    if (root === "api")
      return this.#send(request, "api", "application/json", () => ({
        kind: "APIVersions",
        versions: this.#registry.versions(""),
        serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: this.#serverAddress() }],
      }));
    return this.#send(request, "apis", "application/json", () => ({
      kind: "APIGroupList",
      apiVersion: "v1",
      groups: this.#groups()
        .filter(({ name }) => name !== "")
        .map(groupOf),
    }));
  }

  #group(request: ApiRequest, group: string): Answer {
    const found = this.#groups().find(({ name }) => name === group);
    if (!found) return pageNotFound();
    return this.#send(request, `group:${group}`, "application/json", () => ({
      kind: "APIGroup",
      apiVersion: "v1",
      ...groupOf(found),
    }));
  }

  #version(request: ApiRequest, group: string, version: string): Answer {
    const definitions = this.#registry.resources(group, version);
    if (definitions.length === 0 && this.#registry.versions(group).length > 0) throw unknownPath();
    if (definitions.length === 0) return pageNotFound();
    return this.#send(request, `version:${group}/${version}`, "application/json", () =>
      resourceList(definitions, this.#handlers),
    );
  }

  /** Brings what is kept in line with what is served now. */
  #groups(): readonly CatalogGroup[] {
    const state = `${this.#registry.generation}/${this.#remotes.generation}`;
    if (this.#madeFor !== state) {
      this.#made = new Map();
      this.#catalog = catalogOf(this.#registry, this.#remotes.all());
      this.#madeFor = state;
    }
    return this.#catalog;
  }

  #send(request: ApiRequest, key: string, type: string, make: () => unknown): Answer {
    this.#groups();
    let made = this.#made.get(key);
    if (!made) {
      const body = `${JSON.stringify(make())}\n`;
      made = { body, etag: `"${createHash("sha512").update(body).digest("hex").toUpperCase()}"` };
      this.#made.set(key, made);
    }
    const isKnown = request.headers.get("if-none-match") === made.etag;
    const answer = isKnown ? bytesAnswer("", 304, type) : bytesAnswer(made.body, 200, type);
    if (isKnown) answer.body = undefined;
    answer.headers.etag = made.etag;
    answer.headers.vary = "Accept";
    return answer;
  }
}

function groupOf({ name, versions }: CatalogGroup) {
  const shown = versions.map(({ version }) => ({ groupVersion: `${name}/${version}`, version }));
  return { name, versions: shown, preferredVersion: shown[0] };
}

/** The version of aggregated discovery that the client asks for first, if any. */
function aggregatedVersion(accept: string | null): string | undefined {
  for (const clause of (accept ?? "").split(",")) {
    const { type, parameters } = parseMediaType(clause);
    if (type !== "application/json") continue;
    if (parameters.as === undefined) return undefined;
    if (
      parameters.as === "APIGroupDiscoveryList" &&
      parameters.g === "apidiscovery.k8s.io" &&
      (parameters.v === "v2" || parameters.v === "v2beta1")
    )
      return parameters.v;
  }
  return undefined;
}
