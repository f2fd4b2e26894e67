import t from "tap";
import type { Node } from "../../../plugins/kit/kube/objects/types.ts";
import { taintsByCondition } from "./taints.ts";

const node = (conditions: Record<string, string>, spec: object = {}): Node =>
  ({
    metadata: { name: "n" },
    spec,
    status: { conditions: Object.entries(conditions).map(([type, status]) => ({ type, status })) },
  }) as unknown as Node;
const taint = (key: string, effect = "NoSchedule") => ({ key, effect });
const notReady = "node.kubernetes.io/not-ready";

t.test("taintsByCondition()", async (t) => {
  const rows = [
    {
      name: "a node that never reported keeps its taint",
      node: node({}, { taints: [taint(notReady)] }),
      expected: undefined,
    },
    {
      name: "a ready node loses it",
      node: node({ Ready: "True" }, { taints: [taint(notReady), taint("mine")] }),
      expected: [taint("mine")],
    },
    { name: "a node that is not ready gets it", node: node({ Ready: "False" }), expected: [taint(notReady)] },
    {
      name: "silence is unreachable",
      node: node({ Ready: "Unknown" }),
      expected: [taint("node.kubernetes.io/unreachable")],
    },
    {
      name: "pressure and cordon",
      node: node({ Ready: "True", DiskPressure: "True" }, { unschedulable: true }),
      expected: [taint("node.kubernetes.io/disk-pressure"), taint("node.kubernetes.io/unschedulable")],
    },
    {
      name: "NoExecute taints are another's",
      node: node({ Ready: "True" }, { taints: [taint(notReady, "NoExecute")] }),
      expected: undefined,
    },
  ];
  for (const row of rows) t.same(taintsByCondition(row.node), row.expected, row.name);
});
