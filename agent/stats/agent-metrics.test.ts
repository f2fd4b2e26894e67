// The agent's own numbers: what alerts about certificates and debugging containers are told.

import t from "tap";
import type { AgentView } from "../server/contract.ts";
import { type AgentNumbers, agentMetrics } from "./agent-metrics.ts";
import { NodeSampler } from "./node-sample.ts";

const pod = {
  metadata: { name: "web", namespace: "default", uid: "1" },
  spec: { containers: [{ name: "main" }], ephemeralContainers: [{ name: "look" }, { name: "again" }] },
};
const view = { nodeName: "pi", pods: () => [pod], observed: () => [] } as unknown as AgentView;
const day = 86_400_000;
const now = 1000 * day;

function textWith(more: Partial<AgentNumbers>): string {
  const snapshot = { at: now, node: new NodeSampler("/nowhere").sample(now), pods: [] };
  const disk = { node: undefined, images: undefined, imageBytes: 0, pods: new Map() };
  const own: AgentNumbers = {
    now,
    volumesOf: () => [],
    certificateEndsAt: undefined,
    renewals: undefined,
    cgroupVersion: 2,
    ...more,
  };
  return agentMetrics(view, snapshot, disk as unknown as Parameters<typeof agentMetrics>[2], own);
}

t.test("agentMetrics() tells how long certificates last and which renewals failed", async (t) => {
  const text = textWith({
    certificateEndsAt: () => now + 2 * day,
    renewals: () => ({ clientEndsAt: now - 1000, clientErrors: 3, servingErrors: 1 }),
  });
  t.match(text, /^kubelet_certificate_manager_server_ttl_seconds 172800$/m);
  t.match(text, /^kubelet_certificate_manager_client_ttl_seconds -1$/m);
  t.match(text, /^kubelet_certificate_manager_client_expiration_renew_errors 3$/m);
  t.match(text, /^kubelet_server_expiration_renew_errors 1$/m);
});

t.test("agentMetrics() leaves out certificates that others look after", async (t) => {
  const text = textWith({});
  t.notMatch(text, /certificate_manager/);
  t.match(text, /^kubelet_cgroup_version 2$/m);
  t.match(text, /^kubelet_managed_ephemeral_containers 2$/m);
});
