// The addresses that cluster DNS answers on. They live on the loopback device: they are this node's for every link, and no other node
// hears of them. What was added is remembered on disk, so that uninstall removes it without being told the flags again.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { addressBits, formatPrefix, parseAddress, tryAddress } from "../../kit/os/net/address.ts";
import { otherClaim } from "../../kit/os/net/claim.ts";
import { getLink, openRoutes } from "../../kit/os/net/links.ts";
import { addAddress, deleteAddress } from "../../kit/os/net/routes.ts";
import { writeFileAtomic } from "../../kit/os/platform/files.ts";

export class LoopbackAddresses {
  readonly #path: string;

  constructor(stateDir: string) {
    this.#path = join(stateDir, "addresses.json");
  }

  /** Makes the loopback device have these of all that this instance ever added. */
  async set(wanted: readonly string[]): Promise<void> {
    const added = this.#added();
    // Another agent that uses the address now keeps it.
    const dropped = added.filter((ip) => !wanted.includes(ip) && !otherClaim(formatPrefix(hostPrefix(ip))));
    const all = [...new Set([...added, ...wanted])];
    // Before they are added: a crash in between leaves nothing that is not remembered.
    if (all.length > added.length) await this.#write(all);
    await withLoopback(async (routes, index) => {
      for (const ip of dropped) await deleteAddress(routes, index, hostPrefix(ip));
      for (const ip of wanted) await addAddress(routes, index, hostPrefix(ip), { skipDad: true });
    });
    if (all.length > wanted.length) await this.#write(wanted);
  }

  #write(addresses: readonly string[]): Promise<void> {
    return writeFileAtomic(this.#path, `${JSON.stringify(addresses)}\n`);
  }

  #added(): readonly string[] {
    try {
      const said = JSON.parse(readFileSync(this.#path, "utf8")) as unknown;
      return Array.isArray(said) ? said.filter((ip): ip is string => tryAddress(String(ip)) !== undefined) : [];
    } catch {
      return []; // nothing was added yet
    }
  }
}

function hostPrefix(ip: string) {
  const address = parseAddress(ip);
  return { address, length: addressBits(address.family) };
}

async function withLoopback(
  work: (routes: ReturnType<typeof openRoutes>, index: number) => Promise<void>,
): Promise<void> {
  const routes = openRoutes();
  try {
    await work(routes, (await getLink(routes, "lo")).index);
  } finally {
    routes.close();
  }
}
