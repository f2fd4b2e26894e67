// The node's own half of local-path volumes: it says where they lie, and removes or resizes the directories it is asked to, by
// name, below that place alone.

import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Call } from "../../plugins/kit/base/call.ts";
import type { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import {
  localPathRoot,
  removalOf,
  removalsAsked,
  resizeOf,
  resizesAsked,
} from "../../plugins/kit/kube/objects/local-path.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { Node } from "../../plugins/kit/kube/objects/types.ts";
import { removeTree } from "../../plugins/kit/os/safe-files/remove-tree.ts";
import { limitDirectory } from "../../plugins/kit/os/platform/project-quota.ts";

export interface LocalPathOptions {
  readonly root: string;
  readonly client: ApiClient;
  readonly nodeName: string;
  readonly log: Log;
}

export class LocalPathVolumes {
  readonly #options: LocalPathOptions;
  readonly #removing = new Set<string>();

  constructor(options: LocalPathOptions) {
    this.#options = options;
  }

  /** The watch told of our object: says where volumes lie when it does not, and does what is asked. Never throws. */
  async seen(node: Node, call: Call): Promise<void> {
    const { root, log } = this.#options;
    try {
      if (node.metadata.annotations?.[localPathRoot] !== root) await this.#annotate({ [localPathRoot]: root }, call);
    } catch (error) {
      if (!call.signal.aborted) log.warn({ err: error }, "cannot say where local-path volumes lie");
    }
    for (const name of removalsAsked(node)) await this.#remove(name, call);
    for (const { name, bytes } of resizesAsked(node)) await this.#resize(name, bytes, call);
  }

  /** A directory that no pod has used yet gets its size when it is made. */
  async #resize(name: string, bytes: number, call: Call): Promise<void> {
    const { root, log } = this.#options;
    const path = join(root, name);
    try {
      if (existsSync(path)) limitDirectory(path, bytes);
      await this.#annotate({ [resizeOf(name)]: null }, call);
      log.info({ volume: name, bytes }, "a volume has another size");
    } catch (error) {
      if (!call.signal.aborted) log.warn({ err: error, volume: name }, "cannot resize a volume");
    }
  }

  async #remove(name: string, call: Call): Promise<void> {
    if (this.#removing.has(name)) return;
    this.#removing.add(name);
    const { root, log } = this.#options;
    try {
      // The file system forgets the limit of a project that has none; links inside are removed, not followed.
      if (existsSync(join(root, name))) limitDirectory(join(root, name), 0);
      await removeTree(join(root, name), call);
      await this.#annotate({ [removalOf(name)]: null }, call);
      log.info({ volume: name }, "removed a volume that nobody claims any more");
    } catch (error) {
      if (!call.signal.aborted) log.warn({ err: error, volume: name }, "cannot remove a volume");
    } finally {
      this.#removing.delete(name);
    }
  }

  async #annotate(annotations: Record<string, string | null>, call: Call): Promise<void> {
    const { client, nodeName } = this.#options;
    const patch = { type: "merge", body: { metadata: { annotations } } } as const;
    await client.patch(resources.nodes, { name: nodeName }, patch, call);
  }
}
