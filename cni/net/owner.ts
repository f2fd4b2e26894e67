// How things that we leave in the kernel name their owner, so that only the owner's DEL removes them.

/** A comment that fits nftables' 128 bytes; what is too long ends in a hash of the whole. */
export function ownerComment(containerId: string, ifName: string, network?: string): string {
  const plain = `${network === undefined ? "" : `${network}:`}${containerId}/${ifName}`;
  return plain.length <= 120 ? plain : `${plain.slice(0, 100)}~${shortHash(plain)}`;
}

/** A short stable name for a network, fit for tables and chains. */
export function networkHash(network: string): string {
  return shortHash(network).slice(0, 12);
}

/** FNV-1a of 64 bits: names are nobody's secret, and loading a cryptographic one costs a program a tenth of its start-up. */
function shortHash(text: string): string {
  let hash = 0xcbf29ce484222325n;
  for (const byte of Buffer.from(text, "utf8")) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash.toString(16).padStart(16, "0");
}

interface Element {
  readonly value: unknown;
  readonly comment: string;
}

/** The elements of a listed set, or the keys of a listed map, with their comments. */
export function elementsOf(entry: Readonly<Record<string, unknown>>): Element[] {
  const holder = (entry.set ?? entry.map) as { elem?: unknown[] } | undefined;
  return (holder?.elem ?? []).map((element) => {
    const key: unknown = entry.map ? (element as unknown[])[0] : element;
    const wrapped = (key as { elem?: { val: unknown; comment?: string } } | null)?.elem;
    return wrapped ? { value: wrapped.val, comment: wrapped.comment ?? "" } : { value: key, comment: "" };
  });
}

/** An element's value as nft writes it in scripts: `a . b` for concatenations, `a/24` for prefixes. */
export function printElement(value: unknown): string {
  if (typeof value === "object" && value !== null) {
    const { concat, prefix, range } = value as {
      concat?: unknown[];
      prefix?: { addr: string; len: number };
      range?: unknown[];
    };
    if (concat) return concat.map(printElement).join(" . ");
    if (prefix) return `${prefix.addr}/${prefix.len}`;
    if (range) return range.map(printElement).join("-");
  }
  return String(value);
}
