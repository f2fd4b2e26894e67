import { mkdirSync, mkdtempSync, rmSync, statfsSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { type VolumeSubject, volumeSuite } from "../../test/suites/volume.ts";
import { uninterrupted } from "../kit/base/call.ts";
import { systemClock } from "../kit/base/clock.ts";
import { noLog } from "../kit/base/log.ts";
import type { Pod, Volume } from "../kit/kube/objects/types.ts";
import type { Plugin } from "../kit/base/plugin.ts";
import { mountsBelow, unmount } from "../kit/os/platform/mount.ts";
import type { PodObjects } from "../kit/contracts/pod-objects.ts";
import type { VolumePlugin } from "../kit/contracts/volume.ts";
import { configMap } from "./config-map.ts";
import { downwardApi } from "./downward-api.ts";
import { emptyDir } from "./empty-dir.ts";
import { hostPath } from "./host-path.ts";
import { local } from "./local.ts";
import { projected } from "./projected.ts";
import { secret } from "./secret.ts";

/** A token that stays good for the whole test. */
const issued = { token: "t", issuedAt: systemClock.now(), expiresAt: systemClock.now() + 3_600_000 };

const objects: Partial<PodObjects> = {
  configMap: async (namespace, name) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { namespace, name },
    data: { key: "value" },
  }),
  secret: async (namespace, name) => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace, name },
    data: { key: "dmFsdWU=" },
  }),
  token: async () => issued,
  node: () => undefined,
};

interface Row {
  readonly plugin: Plugin<VolumePlugin>;
  readonly volume: (root: string) => Omit<Volume, "name">;
  readonly keepsFiles?: boolean;
  readonly isReadOnly?: boolean;
}

const labels = { path: "labels", fieldRef: { fieldPath: "metadata.labels" } };
const rows: Record<string, Row> = {
  "emptyDir on disk": { plugin: emptyDir, volume: () => ({ emptyDir: {} }) },
  "emptyDir in memory": { plugin: emptyDir, volume: () => ({ emptyDir: { medium: "Memory", sizeLimit: "1Mi" } }) },
  hostPath: { plugin: hostPath, volume: (root) => ({ hostPath: { path: join(root, "disk") } }), keepsFiles: true },
  local: { plugin: local, volume: (root) => ({ local: { path: join(root, "disk") } }) as object, keepsFiles: true },
  configMap: { plugin: configMap, volume: () => ({ configMap: { name: "c" } }), isReadOnly: true },
  secret: { plugin: secret, volume: () => ({ secret: { secretName: "s" } }), isReadOnly: true },
  downwardAPI: { plugin: downwardApi, volume: () => ({ downwardAPI: { items: [labels] } }), isReadOnly: true },
  projected: {
    plugin: projected,
    volume: () => ({ projected: { sources: [{ serviceAccountToken: { path: "token" } }, { secret: { name: "s" } }] } }),
    isReadOnly: true,
  },
};

function testRoot(t: Test): string {
  const root = mkdtempSync(join(tmpdir(), "skiff-volume-"));
  t.teardown(() => {
    for (const point of mountsBelow(root).reverse()) unmount(point);
    rmSync(root, { recursive: true });
  });
  return root;
}

async function openPlugin(plugin: Plugin<VolumePlugin>, root: string): Promise<VolumePlugin> {
  const host = { settings: undefined, log: noLog, clock: systemClock, stateDir: root, all: () => [objects] };
  return plugin.open({ ...host, onClose: () => {} } as never, uninterrupted);
}

for (const [name, { plugin, volume, ...facts }] of Object.entries(rows)) {
  volumeSuite(t, name, async (t: Test): Promise<VolumeSubject> => {
    const root = testRoot(t);
    mkdirSync(join(root, "disk"));
    return { plugin: await openPlugin(plugin, root), volume: { name: "v", ...volume(root) }, root, ...facts };
  });
}

const limited = (memory: string) => ({ name: "a", resources: { limits: { memory } } });
const memorySizes: Record<
  string,
  { containers: object[]; sizeLimit?: string; allocatable?: string; megabytes: number }
> = {
  "its own limit": { containers: [limited("8Mi")], sizeLimit: "2Mi", megabytes: 2 },
  "its pod's limit, where that is less": {
    containers: [limited("1Mi"), limited("3Mi")],
    sizeLimit: "8Mi",
    megabytes: 4,
  },
  "its pod's limit, where it has none": { containers: [limited("4Mi")], megabytes: 4 },
  "what the node gives to pods": { containers: [limited("4Mi"), { name: "b" }], allocatable: "16Mi", megabytes: 16 },
};
for (const [name, { containers, sizeLimit, allocatable, megabytes }] of Object.entries(memorySizes))
  t.test(`emptyDir in memory is as large as ${name}`, async (t) => {
    const root = testRoot(t);
    const node = () => (allocatable ? { status: { allocatable: { memory: allocatable } } } : undefined);
    const plugin = await emptyDir.open({ all: () => [{ node }] } as never, uninterrupted);
    const request = {
      pod: { metadata: { name: "p" }, spec: { containers } } as Pod,
      volume: { name: "v", emptyDir: { medium: "Memory" as const, ...(sizeLimit ? { sizeLimit } : {}) } },
      path: join(root, "v"),
      readOnly: false,
    };
    await plugin.mount(request, uninterrupted);
    const { blocks, bsize } = statfsSync(request.path);
    t.equal(blocks * bsize, megabytes << 20);
    await plugin.unmount(request.path, uninterrupted);
  });

const tokenOwners: Record<string, { spec: object; request?: object; owner: number; group?: number; mode: number }> = {
  "nobody in particular": { spec: { containers: [{ name: "a" }] }, owner: 0, mode: 0o644 },
  "the pod's user": {
    spec: { securityContext: { runAsUser: 1000 }, containers: [{ name: "a" }, { name: "b" }] },
    owner: 1000,
    mode: 0o600,
  },
  "the user of every container": {
    spec: { containers: [{ name: "a", securityContext: { runAsUser: 1000 } }] },
    owner: 1000,
    mode: 0o600,
  },
  "containers of different users": {
    spec: {
      securityContext: { runAsUser: 1000 },
      containers: [{ name: "a" }, { name: "b", securityContext: { runAsUser: 7 } }],
    },
    owner: 0,
    mode: 0o644,
  },
  "a user and a group": {
    spec: { securityContext: { runAsUser: 1000 }, containers: [{ name: "a" }] },
    request: { fsGroup: 2000 },
    owner: 1000,
    group: 2000,
    mode: 0o640,
  },
  "a user of the pod's own range": {
    spec: { securityContext: { runAsUser: 1000 }, containers: [{ name: "a" }] },
    request: { rootId: 131_072 },
    owner: 132_072,
    group: 131_072,
    mode: 0o600,
  },
};

for (const [name, { spec, request, owner, group = 0, mode }] of Object.entries(tokenOwners)) {
  t.test(`projected: a token is readable for ${name}`, async (t) => {
    const root = testRoot(t);
    const plugin = await openPlugin(projected, root);
    const path = join(root, "v");
    const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "p", namespace: "n", uid: "u" }, spec } as Pod;
    const volume = { name: "v", projected: { sources: [{ serviceAccountToken: { path: "token" } }] } };
    await plugin.mount({ pod, volume, path, readOnly: false, ...request }, uninterrupted);
    const found = statSync(join(path, "token"));
    t.same([found.uid, found.gid, found.mode & 0o777], [owner, group, mode]);
    await plugin.unmount(path, uninterrupted);
  });
}
