import t from "tap";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import type { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { PersistentVolumeClaim } from "../../plugins/kit/kube/objects/types.ts";
import type { PodObjects } from "../../plugins/kit/contracts/pod-objects.ts";
import type { ExpandOutcome, VolumePlugin } from "../../plugins/kit/contracts/volume.ts";
import { testPod } from "../../test/harness/pod-room.ts";
import { VolumeGrowth } from "./growth.ts";

const gibibyte = 1024n ** 3n;
const condition = (type: string) => ({ type, status: "True" });

/** A claim of 1Gi whose volume has 2Gi by now. */
function openWorld(status: object, more: { accessModes?: string[]; requests?: string; readOnly?: boolean } = {}) {
  const asked: bigint[] = [];
  const events: string[] = [];
  const written: unknown[] = [];
  const world = {
    outcome: { outcome: "grown" } as ExpandOutcome,
    isApiGone: false,
    size: "2Gi",
    claim: {
      metadata: { name: "claim", namespace: "default" },
      spec: {
        accessModes: more.accessModes ?? ["ReadWriteOnce"],
        resources: { requests: { storage: more.requests ?? "2Gi" } },
      },
      status: { phase: "Bound", capacity: { storage: "1Gi" }, ...status },
    } as unknown as PersistentVolumeClaim,
  };
  const client = {
    update: async (_: unknown, object: PersistentVolumeClaim) => {
      if (world.isApiGone) throw new Fault("unavailable", "no API server");
      written.push(object.status?.allocatedResourceStatuses?.storage);
      world.claim = object;
      return object;
    },
  } as unknown as ApiClient;
  const objects = {
    persistentVolumeClaim: async () => world.claim,
    persistentVolume: async () => ({ metadata: { name: "pv" }, spec: { capacity: { storage: world.size } } }),
  } as unknown as PodObjects;
  const plugin = {
    expand: async (_: unknown, bytes: bigint) => {
      asked.push(bytes);
      return world.outcome;
    },
  } as unknown as VolumePlugin;
  const pod = testPod("web", {}, { uid: "u" });
  const request = { pod, volume: { name: "data" }, path: "/pods/u/data", readOnly: more.readOnly ?? false };
  const recorder = { event: (_: unknown, type: string, reason: string) => void events.push(`${type} ${reason}`) };
  const growth = new VolumeGrowth({ objects, client, recorder, clock: systemClock });
  const volume = { pod, plugin, request, claimName: "claim", volumeName: "pv" };
  return { world, growth, volume, asked, events, written };
}

const pending = {
  allocatedResources: { storage: "2Gi" },
  allocatedResourceStatuses: { storage: "NodeResizePending" },
  conditions: [condition("FileSystemResizePending"), condition("Unrelated")],
};

t.test("VolumeGrowth.look() lets a volume in use grow and tells the claim, once", async (t) => {
  const { world, growth, volume, asked, events, written } = openWorld(pending);
  await growth.look(volume, uninterrupted);
  t.same(asked, [2n * gibibyte]);
  t.same(written, ["NodeResizeInProgress", undefined]);
  t.same(world.claim.status, {
    phase: "Bound",
    capacity: { storage: "2Gi" },
    allocatedResources: { storage: "2Gi" },
    conditions: [condition("Unrelated")],
  });
  t.same(
    events,
    ["Normal FileSystemResizeSuccessful", "Normal FileSystemResizeSuccessful"],
    "of the pod and the claim",
  );
  await growth.look(volume, uninterrupted);
  t.equal(asked.length, 1);
});

const unasked = [
  {
    name: "the resizer outside is still at it",
    status: { allocatedResourceStatuses: { storage: "ControllerResizeInProgress" } },
  },
  { name: "the size is known not to work", status: { allocatedResourceStatuses: { storage: "NodeResizeInfeasible" } } },
  { name: "all was done outside", status: { capacity: { storage: "2Gi" }, allocatedResources: { storage: "2Gi" } } },
  { name: "the claim has what the volume has", status: { capacity: { storage: "2Gi" } } },
];
for (const { name, status } of unasked)
  t.test(`VolumeGrowth asks nobody while ${name}`, async (t) => {
    const { growth, volume, asked, written } = openWorld(status);
    await growth.mounted(volume, uninterrupted);
    await growth.look(volume, uninterrupted);
    t.same([asked, written], [[], []]);
  });

t.test("VolumeGrowth serves resizers that say nothing of allocated sizes", async (t) => {
  const { world, growth, volume, asked } = openWorld({ conditions: [condition("FileSystemResizePending")] });
  await growth.mounted(volume, uninterrupted);
  t.same(asked, [2n * gibibyte]);
  t.same(world.claim.status, { phase: "Bound", capacity: { storage: "2Gi" } });
});

t.test("VolumeGrowth lets a shared volume grow here although the claim was told elsewhere", async (t) => {
  const { world, growth, volume, asked, written } = openWorld({}, { accessModes: ["ReadWriteMany"] });
  world.size = "1Gi";
  await growth.mounted(volume, uninterrupted);
  world.size = "2Gi";
  const done = { ...world.claim.status, capacity: { storage: "2Gi" }, allocatedResources: { storage: "2Gi" } };
  world.claim = { ...world.claim, status: done };
  await growth.look(volume, uninterrupted);
  t.same([asked, written], [[2n * gibibyte], []]);
});

const refusals = [
  { name: "a failure is told and tried again", outcome: "failed", status: "NodeResizeInProgress", asked: 2, told: 2 },
  {
    name: "one that may be under way is tried again",
    outcome: "uncertain",
    status: "NodeResizeInProgress",
    asked: 2,
    told: 2,
  },
  {
    name: "a size that cannot be is given up",
    outcome: "infeasible",
    status: "NodeResizeInfeasible",
    asked: 1,
    told: 1,
  },
  { name: "a volume in use is left alone", outcome: "in-use", status: "NodeResizeInProgress", asked: 1, told: 0 },
] as const;
for (const row of refusals)
  t.test(`VolumeGrowth.look(): ${row.name}`, async (t) => {
    const { world, growth, volume, asked, events } = openWorld(pending);
    world.outcome = { outcome: row.outcome, message: "no room" };
    await growth.look(volume, uninterrupted);
    await growth.look(volume, uninterrupted);
    t.equal(asked.length, row.asked);
    t.equal(world.claim.status?.allocatedResourceStatuses?.storage, row.status);
    t.same(events, Array(row.told).fill("Warning VolumeResizeFailed"));
    const told = world.claim.status?.conditions?.filter(({ type }) => type === "NodeResizeError");
    t.match(told, row.outcome === "uncertain" ? [] : [{ message: "failed to expand pvc with no room" }]);
  });

t.test("VolumeGrowth gives a size up that failed when the user has asked for another since", async (t) => {
  const { world, growth, volume } = openWorld(pending, { requests: "3Gi" });
  world.outcome = { outcome: "failed", message: "no room" };
  await growth.look(volume, uninterrupted);
  t.equal(world.claim.status?.allocatedResourceStatuses?.storage, "NodeResizeInProgress");
  await growth.look(volume, uninterrupted);
  t.equal(world.claim.status?.allocatedResourceStatuses?.storage, "NodeResizeInfeasible");
});

t.test("VolumeGrowth.mounted() holds the pod back where growing fails, but not without an API server", async (t) => {
  const { world, growth, volume, asked } = openWorld(pending);
  world.outcome = { outcome: "failed", message: "no room" };
  await t.rejects(growth.mounted(volume, uninterrupted), /no room/);
  world.isApiGone = true;
  world.outcome = { outcome: "grown" };
  await growth.mounted(volume, uninterrupted);
  world.isApiGone = false;
  await growth.look(volume, uninterrupted);
  t.equal(world.claim.status?.capacity?.storage, "2Gi", "it is made up for beside the pod");
  t.equal(asked.length, 2);
});

t.test("VolumeGrowth leaves a volume that is mounted read-only", async (t) => {
  const { growth, volume, asked, events } = openWorld(pending, { readOnly: true });
  await growth.mounted(volume, uninterrupted);
  await growth.look(volume, uninterrupted);
  t.same(asked, []);
  t.same(events, ["Warning FileSystemResizeFailed", "Warning FileSystemResizeFailed"]);
});
