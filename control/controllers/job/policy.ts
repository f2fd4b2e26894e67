// What a job's pod failure policy makes of a failed pod, and its success policy of the indexes that are done. Pure.

import type { Pod } from "../../../plugins/kit/kube/objects/types.ts";
import { parseIndexes } from "./indexes.ts";
import type { FailureRule, Job } from "./objects.ts";

export interface FailureMatch {
  readonly action: FailureRule["action"];
  /** Why, in the words of the Failed condition. */
  readonly message: string;
}

/** The first rule that matches decides; without one the failure counts. */
export function matchFailure(job: Job, pod: Pod): FailureMatch {
  const rules = job.spec.podFailurePolicy?.rules ?? [];
  const subject = `${pod.metadata.namespace}/${pod.metadata.name}`;
  if (pod.status?.phase === "Failed") {
    for (const [index, rule] of rules.entries()) {
      const tail = `matching ${rule.action} rule at index ${index}`;
      const exited = rule.onExitCodes ? exitMatching(rule.onExitCodes, pod) : undefined;
      if (exited) {
        const message = `Container ${exited.name} for pod ${subject} failed with exit code ${exited.code} ${tail}`;
        return { action: rule.action, message };
      }
      const condition = rule.onPodConditions?.find((pattern) =>
        pod.status?.conditions?.some(
          (known) => known.type === pattern.type && known.status === (pattern.status ?? "True"),
        ),
      );
      if (condition) return { action: rule.action, message: `Pod ${subject} has condition ${condition.type} ${tail}` };
    }
  }
  return { action: "Count", message: "" };
}

function exitMatching(
  { containerName, operator, values }: NonNullable<FailureRule["onExitCodes"]>,
  pod: Pod,
): { name: string; code: number } | undefined {
  for (const status of [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])]) {
    const code = status.state?.terminated?.exitCode;
    if (code === undefined || code === 0 || (containerName && containerName !== status.name)) continue;
    if (values.includes(code) === (operator === "In")) return { name: status.name, code };
  }
  return undefined;
}

/** The place of the first success rule that holds. */
export function matchSuccess(job: Job, succeeded: ReadonlySet<number>): number | undefined {
  const completions = job.spec.completions ?? 0;
  const found = (job.spec.successPolicy?.rules ?? []).findIndex(({ succeededIndexes, succeededCount }) => {
    if (succeededIndexes === undefined) return succeededCount !== undefined && succeeded.size >= succeededCount;
    const wanted = parseIndexes(succeededIndexes, completions);
    const done = [...wanted].filter((index) => succeeded.has(index)).length;
    return done >= (succeededCount ?? wanted.size) && done > 0;
  });
  return found < 0 ? undefined : found;
}
