// The hash that tells whether a running container still is the one the spec asks for. Like upstream it covers the name and image, the
// only fields that can change in a way that needs a restart; resources are resized in place.

import { createHash } from "node:crypto";
import type { Container } from "../../plugins/kit/kube/objects/types.ts";

export function containerHash(container: Container): string {
  const text = JSON.stringify([container.name, container.image ?? ""]);
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}
