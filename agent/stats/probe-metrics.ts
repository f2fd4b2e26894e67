// `/metrics/probes`: how often each probe was asked, by what it said, and how long it took.

import { type ProbeCounts, probeBuckets } from "../probes/counts.ts";
import { Exposition, labelText } from "./exposition.ts";

const types = { startup: "Startup", liveness: "Liveness", readiness: "Readiness" } as const;
const duration = "prober_probe_duration_seconds";

export function probeMetrics(counts: Pick<ProbeCounts, "all" | "durations">): string {
  const out = new Exposition();
  const help = "[BETA] Cumulative number of a liveness, readiness or startup probe for a container by result.";
  for (const { container, namespace, pod, uid, type, answer, count } of counts.all()) {
    const labels = { container, namespace, pod, pod_uid: uid, probe_type: types[type], result: answer };
    out.add("prober_probe_total", "counter", help, labels, count);
  }
  const lines = counts.durations().map(({ container, namespace, pod, type, counts: below, sum, total }) => {
    const labels = labelText({ container, namespace, pod, probe_type: types[type] });
    const buckets = probeBuckets.map((limit, index) => `${duration}_bucket{${labels},le="${limit}"} ${below[index]}\n`);
    const whole = `${duration}_bucket{${labels},le="+Inf"} ${total}\n`;
    return `${buckets.join("")}${whole}${duration}_sum{${labels}} ${sum}\n${duration}_count{${labels}} ${total}\n`;
  });
  const head = `# HELP ${duration} [ALPHA] Duration in seconds for a probe response.\n# TYPE ${duration} histogram\n`;
  return out.toString() + (lines.length > 0 ? head + lines.join("") : "");
}
