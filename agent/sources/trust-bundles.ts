// What a pod sees of trust bundles: each certificate once, without the headers and words between them that a bundle may carry.

const block = /-----BEGIN CERTIFICATE-----\s+([\s\S]*?)-----END CERTIFICATE-----/g;

export function certificatesIn(bundles: readonly string[]): string {
  const bodies = bundles.flatMap((bundle) => [...bundle.matchAll(block)].map(([, inside]) => bodyOf(inside ?? "")));
  return [...new Set(bodies)]
    .map((body) => `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`)
    .join("");
}

/** In lines of 64 characters, however it was broken before. */
function bodyOf(inside: string): string {
  const lines = inside.split("\n").filter((line) => !line.includes(":"));
  return (
    lines
      .join("")
      .replace(/\s/g, "")
      .match(/.{1,64}/g) ?? []
  ).join("\n");
}
