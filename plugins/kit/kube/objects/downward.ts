// The downward API: fields of the pod and resources of its containers as text.

import { Fault } from "../../base/fault.ts";
import { parseQuantity, type Quantity } from "../quantity.ts";
import type { Container, Pod } from "./types.ts";

export interface DownwardFacts<P extends Pod = Pod> {
  readonly pod: P;
  readonly podIps: readonly string[];
  readonly hostIps: readonly string[];
  readonly nodeName: string;
  /** What a limit falls back to where the container sets none. */
  readonly allocatable: Readonly<Record<string, string>>;
}

/** The value of a field path. Fault `invalid` for a path that names none. */
export function fieldValue(facts: DownwardFacts, path: string): string {
  const { metadata, spec } = facts.pod;
  const subscript = /^metadata\.(labels|annotations)\['(.*)'\]$/.exec(path);
  if (subscript) {
    const map = subscript[1] === "labels" ? metadata.labels : metadata.annotations;
    return map?.[subscript[2] ?? ""] ?? "";
  }
  switch (path) {
    case "metadata.name":
      return metadata.name ?? "";
    case "metadata.namespace":
      return metadata.namespace ?? "";
    case "metadata.uid":
      return metadata.uid ?? "";
    case "metadata.labels":
      return formatMap(metadata.labels);
    case "metadata.annotations":
      return formatMap(metadata.annotations);
    case "spec.nodeName":
      return spec?.nodeName ?? facts.nodeName;
    case "spec.serviceAccountName":
      return spec?.serviceAccountName ?? "";
    case "status.hostIP":
      return facts.hostIps[0] ?? "";
    case "status.hostIPs":
      return facts.hostIps.join(",");
    case "status.podIP":
      return facts.podIps[0] ?? "";
    case "status.podIPs":
      return facts.podIps.join(",");
    default:
      throw new Fault("invalid", `unsupported fieldPath: ${path}`);
  }
}

/** One `key="value"` line each, sorted, quoted as Go quotes. */
function formatMap(map: Record<string, string> | undefined): string {
  return Object.entries(map ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join("\n");
}

/** `limits.cpu`, `requests.memory` and so on, divided and rounded up. Fault `invalid` for a resource that is not supported. */
export function resourceValue(
  facts: DownwardFacts,
  container: Container,
  resource: string,
  divisor: string | number | undefined,
): string {
  const match = /^(limits|requests)\.(cpu|memory|ephemeral-storage|hugepages-.+)$/.exec(resource);
  if (!match) throw new Fault("invalid", `unsupported container resource : ${resource}`);
  const [, list, name = ""] = match;
  const { limits, requests } = container.resources ?? {};
  const own = list === "limits" ? limits?.[name] : requests?.[name];
  const text = own ?? (list === "limits" ? facts.allocatable[name] : undefined) ?? "0";
  const given = parseQuantity(divisor ?? "0");
  const unit: Quantity = given.nano === 0n ? parseQuantity("1") : given;
  const value = parseQuantity(text).nano;
  return String((value + unit.nano - 1n) / unit.nano);
}
