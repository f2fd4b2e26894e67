// The behaviour every VolumePlugin must show, written once and run against each implementation: both directions may be asked for at any
// time and any number of times, and taking away needs nothing but the path.

import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Test } from "tap";
import { uninterrupted as call } from "../../plugins/kit/base/call.ts";
import type { Pod, Volume } from "../../plugins/kit/kube/objects/types.ts";
import { isMountPoint } from "../../plugins/kit/os/platform/mount.ts";
import type { VolumeMountRequest, VolumePlugin } from "../../plugins/kit/contracts/volume.ts";

export interface VolumeSubject {
  readonly plugin: VolumePlugin;
  /** As it stands in a pod, with claims resolved. */
  readonly volume: Volume;
  /** A folder of this run, where the volume is to appear. */
  readonly root: string;
  /** The volume's files outlive it, because they are the node's or a server's. */
  readonly keepsFiles?: boolean;
  /** Containers may not write into it. */
  readonly isReadOnly?: boolean;
}

type Check = (t: Test, subject: VolumeSubject, request: VolumeMountRequest) => Promise<void>;

export function volumeSuite(t: Test, name: string, open: (t: Test) => Promise<VolumeSubject>): void {
  for (const [title, check] of Object.entries(checks)) {
    t.test(`${name}: ${title}`, async (t) => {
      const subject = await open(t);
      const path = join(subject.root, "volumes", "v");
      mkdirSync(join(subject.root, "volumes"), { recursive: true });
      const metadata = { name: "p", namespace: "n", uid: "u", labels: { app: "web" } };
      const pod: Pod = { apiVersion: "v1", kind: "Pod", metadata, spec: { containers: [] } };
      await check(t, subject, { pod, volume: subject.volume, path, readOnly: false });
    });
  }
}

const placeOf = ({ plugin }: VolumeSubject, request: VolumeMountRequest) => plugin.hostPath?.(request) ?? request.path;

const isGone = (path: string) => !existsSync(path) || (statSync(path).isDirectory() && !isMountPoint(path));

const checks: Record<string, Check> = {
  "supports() knows its own kind and no other": async (t, { plugin, volume }) => {
    t.ok(plugin.supports(volume));
    t.notOk(plugin.supports({ name: "other", fc: { lun: 0 } }));
  },

  "mount() makes it appear, and completes when it is asked for again": async (t, subject, request) => {
    await subject.plugin.mount(request, call);
    t.ok(existsSync(placeOf(subject, request)));
    await subject.plugin.mount(request, call);
    t.ok(existsSync(placeOf(subject, request)));
    await subject.plugin.unmount(request.path, call);
  },

  "mount() keeps what a container wrote when it is asked for again": async (t, subject, request) => {
    if (subject.isReadOnly) return; // nobody writes here
    await subject.plugin.mount(request, call);
    const file = join(placeOf(subject, request), "written");
    writeFileSync(file, "x");
    await subject.plugin.mount(request, call);
    t.ok(existsSync(file));
    await subject.plugin.unmount(request.path, call);
    t.equal(existsSync(file), subject.keepsFiles ?? false);
  },

  "unmount() takes it away, and is content where there is nothing": async (t, subject, request) => {
    await subject.plugin.unmount(request.path, call);
    await subject.plugin.mount(request, call);
    await subject.plugin.unmount(request.path, call);
    t.ok(isGone(request.path));
    await subject.plugin.unmount(request.path, call);
    t.ok(isGone(request.path));
  },

  "unmount() completes after a mount that came no further than its directory": async (t, subject, request) => {
    mkdirSync(request.path);
    await subject.plugin.unmount(request.path, call);
    t.ok(isGone(request.path));
  },

  "refresh() of what has not changed says so": async (t, subject, request) => {
    if (!subject.plugin.refresh) return; // its content does not change by itself
    await subject.plugin.mount(request, call);
    t.equal(await subject.plugin.refresh(request, call), false);
    await subject.plugin.unmount(request.path, call);
  },
};
