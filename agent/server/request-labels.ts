// What a request is counted under: only words of our own, whatever a client may write into its address.

const methods = new Set(["GET", "HEAD", "POST", "PUT"]);
const paths = new Set([
  "api",
  "checkpoint",
  "configz",
  "containerLogs",
  "debug",
  "healthz",
  "logs",
  "metrics",
  "pods",
  "run",
  "runningpods",
  "spec",
  "stats",
  "ui",
]);

export const methodLabel = (method: string) => (methods.has(method) ? method : "other");

/** The first part of the path. */
export function pathLabel(url: string): string {
  const [first = ""] = new URL(url).pathname.slice(1).split("/");
  return paths.has(first) ? first : "other";
}
