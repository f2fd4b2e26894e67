// The token of the page on a node that has no API server to ask who somebody is: made at each start, in a file for root alone.

import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import type { UserInfo } from "../../../plugins/kit/kube/user-info.ts";
import { writeFileAtomic } from "../../../plugins/kit/os/platform/files.ts";
import { tokenIn } from "../access/access.ts";

export class LocalToken {
  readonly #digest: Buffer;

  private constructor(token: string) {
    this.#digest = digestOf(token);
  }

  /** Writes a new token to the path. */
  static async create(path: string): Promise<LocalToken> {
    const token = randomBytes(32).toString("base64url");
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await writeFileAtomic(path, `${token}\n`);
    return new LocalToken(token);
  }

  /** Who brings the token is root, or was given it by root. */
  userOf(headers: Headers): UserInfo | undefined {
    const token = tokenIn(headers);
    if (token === undefined || !timingSafeEqual(digestOf(token), this.#digest)) return undefined;
    return { name: "root", groups: ["system:authenticated"] };
  }
}

const digestOf = (token: string) => createHash("sha256").update(token).digest();
