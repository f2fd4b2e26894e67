// Claims of address ranges on a host: each agent holds one for the networks it routes, so that a second agent with the same ones is told
// at its start instead of breaking the first. A claim is an abstract unix socket: it belongs to the network namespace, everybody in it
// can list it, and the kernel drops it with the process.

import { readFileSync } from "node:fs";
import { Fault } from "../../base/fault.ts";
import { formatPrefix, networkOf, overlaps, parsePrefix, type Prefix } from "./address.ts";
import { AF_UNIX, errno, libc, SOCK_CLOEXEC, SOCK_DGRAM, systemFault } from "./libc.ts";

const EADDRINUSE = 98;
const word = "skiff-network";

export interface NetworkClaim {
  /** May be called twice. */
  release(): void;
}

interface ClaimedNetwork {
  readonly network: Prefix;
  readonly pid: number;
}

/** Claims the prefixes for this process. Fault `already-exists` names who has one that overlaps; then none is claimed. */
export function claimNetworks(prefixes: readonly string[]): NetworkClaim {
  const held: number[] = [];
  const release = () => {
    for (const fd of held.splice(0)) libc().close(fd);
  };
  try {
    for (const prefix of new Set(prefixes)) {
      const network = networkOf(parsePrefix(prefix));
      const fd = claimName(`${word} ${formatPrefix(network)} ${process.pid}`);
      if (fd === undefined) throw taken(network, { network, pid: process.pid });
      held.push(fd);
      // Only now: of two that start at the same moment, at least one sees the other.
      const other = otherClaim(formatPrefix(network));
      if (other) throw taken(network, other);
    }
    return { release };
  } catch (error) {
    release();
    throw error;
  }
}

/** Fault `already-exists` when another process has claimed one that overlaps; claims nothing. */
export function checkNetworks(prefixes: readonly string[]): void {
  for (const prefix of prefixes) {
    const other = otherClaim(prefix);
    if (other) throw taken(networkOf(parsePrefix(prefix)), other);
  }
}

/** The claim of another process that overlaps the prefix. */
export function otherClaim(prefix: string): ClaimedNetwork | undefined {
  const wanted = parsePrefix(prefix);
  return listClaims().find(({ network, pid }) => pid !== process.pid && overlaps(network, wanted));
}

function taken(wanted: Prefix, { network, pid }: ClaimedNetwork): Fault {
  return new Fault(
    "already-exists",
    `Cannot use the network ${formatPrefix(wanted)}: another agent on this host (process ${pid}) uses ${formatPrefix(network)}; stop that one, or give this one its own --cluster-cidr, --service-cidr and --cluster-dns`,
  );
}

/** Binds an abstract socket of that name; undefined when somebody has it. */
export function claimName(name: string): number | undefined {
  const { socket, bind, close } = libc();
  const fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) throw systemFault("Cannot open a unix socket", errno());
  const address = Buffer.concat([Buffer.from([AF_UNIX, 0, 0]), Buffer.from(name, "utf8")]);
  if (bind(fd, address, address.length) === 0) return fd;
  const reason = errno();
  close(fd);
  if (reason === EADDRINUSE) return undefined;
  throw systemFault(`Cannot claim "${name}"`, reason);
}

function listClaims(): ClaimedNetwork[] {
  const pattern = new RegExp(`@${word} (\\S+) (\\d+)$`, "gm");
  return [...readFileSync("/proc/thread-self/net/unix", "utf8").matchAll(pattern)].map(([, prefix = "", pid = ""]) => ({
    network: parsePrefix(prefix),
    pid: Number(pid),
  }));
}
