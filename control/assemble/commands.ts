// What an administrator does from the server's own box: join tokens, and the key that secrets are encrypted with.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Call } from "../../plugins/kit/base/call.ts";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { loadKubeconfig } from "../../plugins/kit/kube/client/kubeconfig.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import { Fault, toFault } from "../../plugins/kit/base/fault.ts";
import { certificateHash } from "../../plugins/kit/kube/join-token.ts";
import { createJoinToken, deleteJoinToken, listJoinTokens } from "../auth/join/tokens.ts";
import { rotateKeyPath } from "../auth/paths.ts";
import { durationSeconds } from "./duration.ts";

type Print = (line: string) => void;

/** With a client of the server on this box, as its administrator. */
export async function withServer<T>(
  dataDir: string,
  work: (client: ApiClient, server: string) => Promise<T>,
): Promise<T> {
  const path = join(dataDir, "admin.kubeconfig");
  let config: Awaited<ReturnType<typeof loadKubeconfig>>;
  try {
    config = await loadKubeconfig(path);
  } catch (error) {
    const { code, message } = toFault(error, `Cannot use ${path}`, "not-found");
    const fix = code === "forbidden" ? "run it as root" : "is --data-dir right?";
    throw new Fault(code, `Cannot find a server on this box: ${message}; ${fix}`, { cause: error });
  }
  try {
    return await work(new ApiClient({ fetch: config.fetch, server: config.server, clock: systemClock }), config.server);
  } finally {
    config.close();
  }
}

export interface TokenWish {
  readonly action: string;
  readonly id?: string | undefined;
  readonly ttl: string;
  readonly description?: string | undefined;
}

/** `skiff token create|list|delete`. */
export function tokenCommand(wish: TokenWish, dataDir: string, print: Print, call: Call): Promise<void> {
  return withServer(dataDir, async (client) => {
    switch (wish.action) {
      case "create": {
        const ttlSeconds = durationSeconds(wish.ttl);
        if (ttlSeconds === undefined)
          throw new Fault("invalid", `--ttl "${wish.ttl}" is not a time such as 24h, 30m or 0`);
        const caHash = certificateHash(readFileSync(join(dataDir, "pki", "ca.crt"), "utf8"));
        const { description } = wish;
        return print(
          await createJoinToken(
            { ttlSeconds, ...(description ? { description } : {}) },
            { client, caHash, clock: systemClock },
            call,
          ),
        );
      }
      case "list": {
        for (const { id, expiresAt, usedBy, description } of await listJoinTokens(client, call)) {
          const end = expiresAt === undefined ? "never" : new Date(expiresAt).toISOString();
          print([id, end, usedBy ? `used by ${usedBy}` : "unused", description].join("\t").trimEnd());
        }
        return undefined;
      }
      case "delete":
        if (!wish.id)
          throw new Fault("invalid", "skiff token delete needs the id of a token: the six characters before the dot");
        return deleteJoinToken(wish.id, client, call);
      default:
        throw new Fault("invalid", `skiff token cannot "${wish.action}": it takes create, list or delete`);
    }
  });
}

/** `skiff secrets rotate`. */
export function secretsCommand(action: string, dataDir: string, print: Print, call: Call): Promise<void> {
  if (action !== "rotate") throw new Fault("invalid", `skiff secrets cannot "${action}": it takes rotate`);
  return withServer(dataDir, async (client) => {
    const response = await client.request(rotateKeyPath, { method: "POST" }, call);
    const { encrypted } = (await response.json()) as { encrypted: number };
    print(`${encrypted} secrets are now encrypted with a new key`);
  });
}

/** Prints the administrator's kubeconfig, with another server address where one is given. */
export function kubeconfigCommand(dataDir: string, server: string | undefined, print: (line: string) => void): void {
  if (server !== undefined && !/^https:\/\/[^/]/.test(server))
    throw new Fault(
      "invalid",
      `Bad value for --server: "${server}" is not an address such as https://${server.replace(/^\w+:\/+/, "") || "host"}:6443`,
    );
  const path = join(dataDir, "admin.kubeconfig");
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new Fault("not-found", `Cannot read ${path}: no server has been started with this data dir yet`, {
      cause: error,
    });
  }
  print((server ? text.replace(/^(\s*server:\s*).*$/m, `$1${server}`) : text).trimEnd());
}
