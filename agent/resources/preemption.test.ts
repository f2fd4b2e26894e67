import t from "tap";
import { testPod } from "../../test/harness/pod-room.ts";
import type { AgentPod } from "../model/agent-pod.ts";
import { podsToPreempt } from "./preemption.ts";

const amounts: Record<string, Record<string, bigint>> = {};
function pod(name: string, qos: "BestEffort" | "Burstable" | "Guaranteed", cpu: bigint, more: object = {}): AgentPod {
  amounts[name] = { cpu, pods: 1n };
  const list = { cpu: `${cpu}m`, memory: "1Mi" };
  const resources =
    qos === "BestEffort" ? {} : qos === "Burstable" ? { requests: list } : { requests: list, limits: list };
  return testPod(name, { containers: [{ name: "main", image: "x", resources }], ...more });
}
const gives = ({ metadata }: AgentPod) => new Map(Object.entries(amounts[metadata.name] ?? {}));
const vital = testPod("vital", { priority: 2_000_000_000 });

const rows: { name: string; missing: Record<string, bigint>; pods: AgentPod[]; expect: string[] | undefined }[] = [
  {
    name: "the one that comes closest",
    missing: { cpu: 200n },
    pods: [pod("little", "Burstable", 100n), pod("enough", "Burstable", 250n), pod("much", "Burstable", 900n)],
    expect: ["enough"],
  },
  {
    name: "none of a better class where a lesser one does",
    missing: { cpu: 200n },
    pods: [pod("sure", "Guaranteed", 200n), pod("loose", "Burstable", 300n)],
    expect: ["loose"],
  },
  {
    name: "one of a better class for what the lesser ones cannot give",
    missing: { cpu: 200n, pods: 1n },
    pods: [pod("idle", "BestEffort", 0n), pod("sure", "Guaranteed", 300n)],
    expect: ["sure"],
  },
  {
    name: "several where one is not enough",
    missing: { cpu: 300n },
    pods: [pod("a", "Burstable", 100n), pod("b", "Burstable", 150n), pod("c", "Burstable", 150n)],
    expect: ["b", "c"],
  },
  {
    name: "nobody where all of them would not do",
    missing: { cpu: 500n },
    pods: [pod("a", "Burstable", 100n), pod("peer", "Burstable", 900n, { priority: 2_000_000_000 })],
    expect: undefined,
  },
];

for (const { name, missing, pods, expect } of rows) {
  t.test(`podsToPreempt() takes ${name}`, async (t) => {
    const chosen = podsToPreempt(vital, pods, new Map(Object.entries(missing)), gives);
    t.same(
      chosen?.map(({ metadata }) => metadata.name),
      expect,
    );
  });
}
