// /healthz, /livez, /readyz with their single checks, and /version.

import { type Answer, jsonAnswer, textAnswer } from "./answer.ts";
import type { HealthMetrics } from "./health-metrics.ts";
import type { ApiRequest } from "./request.ts";

/** A check says what is wrong, or undefined. */
export interface HealthCheck {
  readonly name: string;
  /** Some checks tell only whether to send traffic here, not whether to restart. */
  readonly readyOnly?: boolean;
  check(): string | undefined;
}

export const versionInfo = {
  major: "1",
  minor: "32",
  gitVersion: "v1.32.0+skiff",
  gitCommit: "",
  gitTreeState: "clean",
  buildDate: "2026-01-01T00:00:00Z",
  goVersion: "",
  compiler: "",
  platform: `linux/${process.arch === "x64" ? "amd64" : process.arch}`,
};

export function healthAnswer(
  request: ApiRequest,
  checks: readonly HealthCheck[],
  metrics: HealthMetrics,
): Answer | undefined {
  const [root, single, ...more] = request.path.split("/").filter((part) => part !== "");
  if (root === "version" && single === undefined) return jsonAnswer(versionInfo);
  if ((root !== "healthz" && root !== "livez" && root !== "readyz") || more.length > 0) return undefined;
  const excluded = new Set(request.query.getAll("exclude"));
  const relevant = checks.filter(
    (check) => (root === "readyz" || !check.readyOnly) && (single === undefined || check.name === single),
  );
  if (single !== undefined && relevant.length === 0) return undefined;
  const lines: string[] = [];
  let failed = false;
  for (const check of relevant) {
    if (excluded.has(check.name)) {
      lines.push(`[+]${check.name} excluded: ok`);
      continue;
    }
    const problem = check.check();
    if (problem !== undefined) failed = true;
    // As with kube-apiserver, who asks for one check alone is not counted.
    if (single === undefined) metrics.observe(check.name, root, problem === undefined);
    lines.push(problem === undefined ? `[+]${check.name} ok` : `[-]${check.name} failed: ${problem}`);
  }
  if (failed) return textAnswer([...lines, `${root} check failed`, ""].join("\n"), 500);
  if (!request.query.has("verbose")) return textAnswer("ok");
  return textAnswer([...lines, `${root} check passed`, ""].join("\n"));
}
