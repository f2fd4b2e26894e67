import t from "tap";
import type { Pod } from "./objects/types.ts";
import { podRequests, podWeight } from "./pod-requests.ts";

interface Case {
  readonly name: string;
  readonly asked: string;
  readonly allocated?: string;
  readonly actual?: string;
  readonly status?: object;
  /** In thousandths of a CPU. */
  readonly expect: number;
}

const infeasible = { conditions: [{ type: "PodResizePending", status: "True", reason: "Infeasible" }] };
const deferred = { conditions: [{ type: "PodResizePending", status: "True", reason: "Deferred" }] };

const cases: Case[] = [
  { name: "nothing is known of it yet", asked: "500m", expect: 500 },
  { name: "it has what it asks for", asked: "500m", allocated: "500m", actual: "500m", expect: 500 },
  { name: "it waits for more", asked: "2", allocated: "500m", actual: "500m", status: deferred, expect: 2000 },
  { name: "it will never get more", asked: "64", allocated: "500m", actual: "500m", status: infeasible, expect: 500 },
  {
    name: "it will never get more, by the older field",
    asked: "64",
    allocated: "500m",
    actual: "500m",
    status: { resize: "Infeasible" },
    expect: 500,
  },
  { name: "a shrink is allocated and not actuated", asked: "100m", allocated: "100m", actual: "1", expect: 1000 },
  { name: "a shrink is not allocated yet", asked: "100m", allocated: "1", expect: 1000 },
  { name: "growth is allocated and not actuated", asked: "1", allocated: "1", actual: "100m", expect: 1000 },
];

for (const { name, asked, allocated, actual, status, expect } of cases)
  t.test(`podRequests() of a pod that is resized: ${name}`, async (t) => {
    const pod = {
      metadata: { name: "p" },
      spec: { containers: [{ name: "main", image: "x", resources: { requests: { cpu: asked, memory: "64Mi" } } }] },
      status: {
        ...status,
        containerStatuses: [
          {
            name: "main",
            ...(allocated ? { allocatedResources: { cpu: allocated, memory: "64Mi" } } : {}),
            ...(actual ? { resources: { requests: { cpu: actual, memory: "64Mi" } } } : {}),
          },
        ],
      },
    } as unknown as Pod;
    t.equal(podRequests(pod).get("cpu"), expect);
    t.equal(podRequests(pod).get("memory"), 64 * 1024 * 1024);
    t.equal(podWeight(pod).get("cpu"), expect, "and where nodes are compared");
  });
