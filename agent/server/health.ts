// `/healthz` and its parts, on the kubelet's port and on loopback.

import { text } from "./answers.ts";
import type { AgentView } from "./contract.ts";
import { unknown } from "./path.ts";

export function health(view: AgentView, part: string): Response {
  if (part === "ping" || part === "log") return text("ok");
  if (part !== "" && part !== "syncloop") throw unknown();
  const trouble = view.unhealthy();
  if (trouble === undefined) return text("ok");
  return text(`[+]ping ok\n[+]log ok\n[-]syncloop failed: ${trouble}\nhealthz check failed\n`, 500);
}
