// What other servers' OpenAPI adds to ours. Version 3 is passed on as it is; version 2 is one document, so theirs is read and
// its paths and types are put beside ours, whenever someone asks.

import type { Call } from "../../../plugins/kit/base/call.ts";
import type { Remote } from "./remote.ts";
import type { Remotes } from "./remotes.ts";

type Json = Record<string, unknown>;

/** Types that every server shares are in our own document already. */
const shared = /^io\.k8s\.(apimachinery|api)\./;

export class RemoteDocuments {
  readonly #remotes: Remotes;

  constructor(remotes: Remotes) {
    this.#remotes = remotes;
  }

  /** Documents of version 3, by path, with their hashes. */
  paths(): Map<string, string> {
    const told = new Map<string, string>();
    for (const remote of this.#remotes.all()) {
      const hash = remote.told?.openApiHash;
      if (hash) told.set(remote.path.slice(1), hash);
    }
    return told;
  }

  get isEmpty(): boolean {
    return this.#remotes.all().length === 0;
  }

  find(path: string): Remote | undefined {
    return this.#remotes.all().find((remote) => remote.path.slice(1) === path);
  }

  async addedToV2(call: Call): Promise<{ paths: Json; definitions: Json }> {
    const paths: Json = {};
    const definitions: Json = {};
    const usable = this.#remotes.all().filter(({ isAvailable }) => isAvailable);
    for (const document of await Promise.all(usable.map((remote) => documentOf(remote, call)))) {
      Object.assign(paths, document.paths);
      Object.assign(definitions, document.definitions);
    }
    return { paths, definitions };
  }
}

async function documentOf(remote: Remote, call: Call): Promise<{ paths: Json; definitions: Json }> {
  const nothing = { paths: {}, definitions: {} };
  try {
    const response = await remote.ask("/openapi/v2", call);
    if (!response.ok) return nothing;
    const { paths = {}, definitions = {} } = (await response.json()) as { paths?: Json; definitions?: Json };
    const pick = (from: Json, isOurs: (name: string) => boolean) =>
      Object.fromEntries(Object.entries(from).filter(([name]) => isOurs(name)));
    return {
      paths: pick(paths, (path) => path.startsWith(`${remote.path}/`) || path === remote.path),
      definitions: pick(definitions, (name) => !shared.test(name)),
    };
  } catch {
    return nothing; // a server that does not answer in time is left out this once
  }
}
