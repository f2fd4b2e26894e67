import t from "tap";
import { uninterrupted } from "../../../plugins/kit/base/call.ts";
import { systemClock } from "../../../plugins/kit/base/clock.ts";
import type { WatchCache } from "../../storage/watch-cache.ts";
import type { NodeConnector } from "../connect/connector.ts";
import type { Scope } from "../scope.ts";
import { usageResources } from "./resources.ts";

const container = { name: "c", cpu: { usageNanoCores: 5 }, memory: { workingSetBytes: 2048 } };
const podRef = (name: string, uid: string) => ({ name, namespace: "default", uid });

t.test("PodMetrics tell pods by their uid, and static pods by the one that their kubelet knows", async (t) => {
  const summary = {
    node: {},
    pods: [
      { podRef: podRef("plain", "1"), containers: [container] },
      { podRef: podRef("static-node", "hash"), containers: [container] },
      { podRef: podRef("again", "an earlier one"), containers: [container] },
    ],
  };
  const connector = { fetch: async () => Response.json(summary) } as unknown as NodeConnector;
  const pod = (name: string, uid: string, annotations = {}) => ({
    metadata: { name, uid, namespace: "default", annotations },
    spec: { nodeName: "node" },
  });
  const objects: Record<string, object[]> = {
    nodes: [{ metadata: { name: "node", uid: "n" } }],
    pods: [pod("plain", "1"), pod("static-node", "2", { "kubernetes.io/config.mirror": "hash" }), pod("again", "3")],
  };
  const cache = {
    cache: ({ plural }: { plural: string }) => ({
      sorted: () => (objects[plural] ?? []).map((object) => ({ object })),
    }),
  } as unknown as WatchCache;
  const resources = new Map(usageResources({ connector, cache, clock: systemClock }));
  const request = { query: new URLSearchParams() };
  const scope = { name: "", namespace: "", request, call: uninterrupted } as unknown as Scope;
  const found = await resources.get("metrics.k8s.io/pods")?.list?.(scope);
  t.match(found, [
    { metadata: { name: "plain" }, containers: [{ name: "c", usage: { cpu: "5n", memory: "2Ki" } }] },
    { metadata: { name: "static-node" }, containers: [{ name: "c" }] },
  ]);
  t.equal((found as unknown[] | undefined)?.length, 2);
});
