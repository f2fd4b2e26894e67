// What a request to the kubelet's API asks for, in the words that roles are written in.

export interface NodeAttributes {
  readonly verb: string;
  readonly subresource: string;
}

const verbs: ReadonlyMap<string, string> = new Map([
  ["GET", "get"],
  ["HEAD", "get"],
  ["POST", "create"],
  ["PUT", "update"],
  ["PATCH", "patch"],
  ["DELETE", "delete"],
]);

const subresources: ReadonlyMap<string, string> = new Map([
  ["stats", "stats"],
  ["metrics", "metrics"],
  ["logs", "log"],
  ["checkpoint", "checkpoint"],
  ["spec", "spec"],
  // cAdvisor's own API tells what stats tell.
  ["api", "stats"],
]);

/** By the path's first segment; whatever has no subresource of its own is `nodes/proxy`. */
export function attributesOf(method: string, path: string): NodeAttributes {
  const [, first = ""] = path.split("/");
  return { verb: verbs.get(method) ?? method.toLowerCase(), subresource: subresources.get(first) ?? "proxy" };
}
