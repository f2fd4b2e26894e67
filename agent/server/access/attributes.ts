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

/** Exec, attach and port-forward begin as a GET when a WebSocket carries them: reading rights alone must not open a shell. */
const sessions: ReadonlySet<string> = new Set(["exec", "attach", "run", "portforward"]);

/**
 * By the path's first segment; whatever has no subresource of its own is `nodes/proxy`. Sessions, and any connection that is to be
 * upgraded, need `create` whatever the method: stricter than upstream's kubelet.
 */
export function attributesOf(method: string, path: string, isUpgrade = false): NodeAttributes {
  const [first = "", second = ""] = path.slice(1).split("/", 2).map(decoded);
  const session = (first === "ui" ? second : first).toLowerCase();
  const verb = isUpgrade || sessions.has(session) ? "create" : (verbs.get(method) ?? method.toLowerCase());
  return { verb, subresource: subresources.get(first) ?? "proxy" };
}

/** As the routes read it. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment; // no route has such a name
  }
}
