// /healthz, /livez, /readyz with their single checks, and /version.

import { type Answer, jsonAnswer, textAnswer } from "../machinery/answer.ts";
import type { HealthKind, HealthMetrics } from "./health-metrics.ts";
import type { ApiRequest } from "../machinery/request.ts";

/** A check says what is wrong, or undefined. */
export interface HealthCheck {
  readonly name: string;
  /** Some checks tell only whether to send traffic here, not whether to restart. */
  readonly readyOnly?: boolean;
  check(): string | undefined | Promise<string | undefined>;
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

/** Undefined where the path is none of these. */
export function healthAnswer(
  request: ApiRequest,
  checks: readonly HealthCheck[],
  metrics: HealthMetrics,
): Answer | Promise<Answer> | undefined {
  const [root, single, ...more] = request.path.split("/").filter((part) => part !== "");
  if (root === "version" && single === undefined) return jsonAnswer(versionInfo);
  if ((root !== "healthz" && root !== "livez" && root !== "readyz") || more.length > 0) return undefined;
  const relevant = checks.filter((check) => root === "readyz" || !check.readyOnly);
  if (single === undefined) return checkAll(root, request.query, relevant, metrics);
  const check = relevant.find(({ name }) => name === single);
  return check && checkOne(check);
}

/** A single check, requested by its path, answers with the reason of its failure; as in kube-apiserver, it is not counted. */
async function checkOne(check: HealthCheck): Promise<Answer> {
  const problem = await check.check();
  return problem === undefined ? textAnswer("ok") : textAnswer(`internal server error: ${problem}\n`, 500);
}

async function checkAll(
  root: HealthKind,
  query: URLSearchParams,
  checks: readonly HealthCheck[],
  metrics: HealthMetrics,
): Promise<Answer> {
  const excluded = new Set(query.getAll("exclude"));
  const lines = await Promise.all(
    checks.map(async (check) => {
      const { name } = check;
      if (excluded.delete(name)) return `[+]${name} excluded: ok`;
      const isWell = (await check.check()) === undefined;
      metrics.observe(name, root, isWell);
      // Anyone may ask, also without credentials: the reason is for those who may ask for the check itself.
      return isWell ? `[+]${name} ok` : `[-]${name} failed: reason withheld`;
    }),
  );
  const isFailed = lines.some((line) => line.startsWith("[-]"));
  if (excluded.size > 0) {
    const names = [...excluded].sort().map((name) => JSON.stringify(name));
    lines.push(`warn: some health checks cannot be excluded: no matches for ${names.join(",")}`);
  }
  if (isFailed) return textAnswer([...lines, `${root} check failed`, ""].join("\n"), 500);
  if (!query.has("verbose")) return textAnswer("ok");
  return textAnswer([...lines, `${root} check passed`, ""].join("\n"));
}
