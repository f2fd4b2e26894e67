import t from "tap";
import { FakeClock } from "../../plugins/kit/base/clock.ts";
import { capacityOf, foreignResources } from "../model/capacity.ts";
import { onAddressChange } from "./addresses.ts";
import { machineFacts, type MachineFacts } from "../host/machine.ts";
import { isNews, nodeStatus, type NodeStatusInput } from "./node-status.ts";

const machine: MachineFacts = {
  ...machineFacts(),
  cpus: 4,
  memoryBytes: 1n << 30n,
  hugepages: [{ size: 2n << 20n, bytes: 4n << 20n }],
};

t.test("capacityOf() sets aside what is reserved", async (t) => {
  const { capacity, allocatable } = capacityOf({
    machine,
    storageBytes: 1000,
    maxPods: 110,
    reserved: [{ cpu: "500m", memory: "100Mi" }, { memory: "24Mi" }],
    evictionMemoryBytes: 100n << 20n,
    evictionStorageBytes: 100n,
    extended: { "skiff.dev/serial": { capacity: 3, allocatable: 2 } },
  });
  t.match(capacity, { cpu: "4", memory: "1048576Ki", pods: "110", "hugepages-2Mi": "4Mi", "skiff.dev/serial": "3" });
  t.match(allocatable, { cpu: "3500m", memory: `${(1024 - 124 - 100 - 4) * 1024}Ki`, "ephemeral-storage": "900" });
  t.equal(allocatable["skiff.dev/serial"], "2", "only what works");
});

t.test("foreignResources() are those that others put on the status, but for our own", async (t) => {
  const own = { "skiff.dev/serial": { capacity: 0, allocatable: 0 } };
  const capacity = { cpu: "4", "skiff.dev/serial": "3", "example.com/dongle": "2", "x.kubernetes.io/y": "1" };
  t.same(foreignResources(capacity, own), { "example.com/dongle": { capacity: 2, allocatable: 2 } });
  t.same(foreignResources(undefined, own), {});
});

const input: NodeStatusInput = {
  nodeName: "n",
  machine,
  addresses: ["10.0.0.5"],
  capacity: {},
  allocatable: {},
  health: { runtimeTrouble: undefined, networkTrouble: undefined, name: "containerd", version: "1", handlers: [] },
  pressure: { memory: false, disk: false, pids: false },
  troubles: [],
  images: [],
  volumesInUse: [],
  port: 10_250,
  previous: undefined,
  nowMs: Date.UTC(2026, 0, 1),
};

t.test("nodeStatus() tells readiness and pressure", async (t) => {
  const condition = (more: Partial<NodeStatusInput>, type: string) =>
    nodeStatus({ ...input, ...more }).conditions?.find((found) => found.type === type);
  t.match(condition({}, "Ready"), { status: "True", reason: "KubeletReady" });
  const networkTrouble = "NetworkReady=false reason:NetworkPluginNotReady message:cni plugin not initialized";
  t.match(condition({}, "NetworkUnavailable"), { status: "False", reason: "NetworkReady" });
  t.match(condition({ health: { ...input.health, networkTrouble } }, "NetworkUnavailable"), {
    status: "True",
    reason: "NetworkNotReady",
    message: networkTrouble,
  });
  t.match(condition({ health: { ...input.health, networkTrouble } }, "Ready"), {
    status: "False",
    message: `container runtime network not ready: ${networkTrouble}`,
  });
  t.match(condition({ troubles: ["node is shutting down"] }, "Ready"), {
    status: "False",
    message: "node is shutting down",
  });
  t.match(condition({ pressure: { memory: true, disk: false, pids: false } }, "MemoryPressure"), {
    status: "True",
    reason: "KubeletHasInsufficientMemory",
  });
});

t.test("isNews() ignores heartbeats", async (t) => {
  const first = nodeStatus(input);
  const later = nodeStatus({ ...input, nowMs: input.nowMs + 60_000, previous: first });
  t.notOk(isNews(first, later));
  t.ok(isNews(first, nodeStatus({ ...input, addresses: ["10.0.0.6"] })), "a changed address is");
});

t.test("onAddressChange() tells each change once, until it is ended", async (t) => {
  const clock = new FakeClock();
  let addresses = ["10.0.0.5"];
  let told = 0;
  const end = onAddressChange(
    () => addresses,
    clock,
    () => void told++,
  );
  await clock.advance(20_000);
  t.equal(told, 0);
  addresses = ["10.0.0.6"];
  await clock.advance(20_000);
  t.equal(told, 1);
  end();
  addresses = [];
  await clock.advance(20_000);
  t.equal(told, 1);
});

t.test("machineFacts() finds the swap controller of version 2 in its own group", async (t) => {
  const own = (files: Record<string, string>) => machineFacts(t.testdir(files)).hasSwapController;
  const group = { fs: { cgroup: { "cgroup.controllers": "memory\n", own: { "memory.swap.max": "max\n" } } } };
  const within = (place: string, sys: object) => ({ sys, proc: { self: { cgroup: `0::${place}\n` } } }) as never;
  t.equal(own(within("/own", group)), true);
  t.equal(own(within("/other", group)), false, "a kernel without it");
  t.equal(own(within("/", group)), false, "the root has no such file");
  t.equal(own(within("/own", {})), false, "version 1");
});
