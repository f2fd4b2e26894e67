import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { type VolumeSubject, volumeSuite } from "../../test/suites/volume.ts";
import { uninterrupted } from "../kit/call.ts";
import { systemClock } from "../kit/clock.ts";
import { noLog } from "../kit/log.ts";
import type { Volume } from "../kit/objects/types.ts";
import type { Plugin } from "../kit/plugin.ts";
import { mountsBelow, unmount } from "../kit/platform/mount.ts";
import type { PodObjects } from "../kit/pod-objects.ts";
import type { VolumePlugin } from "../kit/volume.ts";
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

for (const [name, { plugin, volume, ...facts }] of Object.entries(rows)) {
  volumeSuite(t, name, async (t: Test): Promise<VolumeSubject> => {
    const root = mkdtempSync(join(tmpdir(), "skiff-volume-"));
    mkdirSync(join(root, "disk"));
    t.teardown(() => {
      for (const point of mountsBelow(root).reverse()) unmount(point);
      rmSync(root, { recursive: true });
    });
    const host = { settings: undefined, log: noLog, clock: systemClock, stateDir: root, all: () => [objects] };
    const opened = await plugin.open({ ...host, onClose: () => {} } as never, uninterrupted);
    return { plugin: opened, volume: { name: "v", ...volume(root) }, root, ...facts };
  });
}
