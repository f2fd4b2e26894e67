// Remembers, on disk, what ADD was asked and what it answered, so that CHECK and DEL after a restart get the same, and GC knows
// which attachments there were. One file per attachment, replaced as a whole.

import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseNetworkList, type NetworkList } from "../spec/config.ts";
import { type CniResult, parseResult, printResult } from "../spec/result.ts";
import { newestVersion } from "../spec/version.ts";

export interface Attachment {
  readonly containerId: string;
  readonly ifName: string;
  readonly netns: string;
  readonly args: Readonly<Record<string, string>>;
  readonly capabilities: Readonly<Record<string, unknown>>;
}

export interface CachedAttachment {
  readonly attachment: Attachment;
  /** The list as it was when the pod was attached: DEL goes by it although the file on disk has changed. */
  readonly list: NetworkList;
  /** Absent while ADD has not completed. */
  readonly result?: CniResult;
}

export class AttachmentCache {
  readonly #dir: string;

  constructor(dir: string) {
    this.#dir = join(dir, "attachments");
  }

  #path(network: string, containerId: string, ifName: string): string {
    return join(this.#dir, `${network}:${containerId}:${ifName}.json`);
  }

  write({ attachment, list, result }: CachedAttachment): void {
    mkdirSync(this.#dir, { recursive: true, mode: 0o700 });
    const path = this.#path(list.name, attachment.containerId, attachment.ifName);
    const body = { attachment, list, ...(result ? { result: printResult(result, newestVersion) } : {}) };
    writeFileSync(`${path}.new`, JSON.stringify(body), { mode: 0o600 });
    renameSync(`${path}.new`, path);
  }

  /** The attachment of an interface, in whichever networks it is: usually one. */
  find(containerId: string, ifName: string): CachedAttachment[] {
    return this.#readAll((name) => name.endsWith(`:${containerId}:${ifName}.json`));
  }

  remove(network: string, containerId: string, ifName: string): void {
    rmSync(this.#path(network, containerId, ifName), { force: true });
  }

  list(): CachedAttachment[] {
    return this.#readAll((name) => name.endsWith(".json"));
  }

  #readAll(isWanted: (name: string) => boolean): CachedAttachment[] {
    let names: string[];
    try {
      names = readdirSync(this.#dir);
    } catch {
      // Nothing was ever attached.
      return [];
    }
    return names.filter(isWanted).flatMap((name) => this.#read(join(this.#dir, name)) ?? []);
  }

  #read(path: string): CachedAttachment | undefined {
    try {
      const body = JSON.parse(readFileSync(path, "utf8")) as {
        attachment: Attachment;
        list: unknown;
        result?: unknown;
      };
      return {
        attachment: body.attachment,
        list: parseNetworkList(JSON.stringify(body.list)),
        ...(body.result ? { result: parseResult(body.result) } : {}),
      };
    } catch {
      // Never written, or torn by a power loss: DEL then goes by the list on disk.
      return undefined;
    }
  }
}
