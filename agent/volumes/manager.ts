// The volume manager: the only one that mounts and unmounts pods' volumes. What is mounted is read from the disk and the kernel,
// so a restart loses nothing; memory only holds which pods' live content to refresh.
//
// Invariant: work on one pod's volumes never overlaps (a chain of promises per pod); different pods run side by side.

import { isDeepStrictEqual } from "node:util";
import { type Call, unlessStopped } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { Fault, toFault } from "../../plugins/kit/base/fault.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import { mountsBelow } from "../../plugins/kit/os/platform/mount.ts";
import type { PodObjects } from "../../plugins/kit/contracts/pod-objects.ts";
import { parseQuantity, quantityValue } from "../../plugins/kit/kube/quantity.ts";
import type { VolumeMountRequest, VolumePlugin, VolumeUsage } from "../../plugins/kit/contracts/volume.ts";
import { type AgentPod, podName } from "../model/agent-pod.ts";
import type { VolumeManager } from "./contract.ts";
import type { MountedVolume, SubPathRequest } from "../model/mounted-volume.ts";
import { type FolderUsage, folderUsage } from "../../plugins/kit/os/safe-files/folder-usage.ts";
import type { GrowingVolume, VolumeGrowth } from "./growth.ts";
import { PodDirectories } from "./pod-directories.ts";
import { resolveVolume } from "./resolve.ts";
import { mustAnswer } from "./server-answers.ts";
import { bindSubPath, removeBind } from "./sub-path.ts";

export interface VolumeManagerOptions {
  /** Pods' directories lie below it. */
  readonly root: string;
  readonly plugins: readonly VolumePlugin[];
  readonly objects: PodObjects;
  /** The host's id for the root of a pod with users of its own. */
  readonly rootOf?: (pod: AgentPod) => number | undefined;
  /** What `inUse` answers has changed: the node should tell it soon. */
  readonly onInUse?: () => void;
  /** Lets volumes grow; without it they stay as they are. */
  readonly growth?: VolumeGrowth;
  readonly clock: Clock;
  readonly log: Log;
  /** How often live content is looked at when nobody woke it. */
  readonly refreshMs?: number;
}

interface MountedPod {
  pod: AgentPod;
  readonly live: Map<string, { plugin: VolumePlugin; request: VolumeMountRequest }>;
  /** Those whose plugin can let them grow, with the pod as it was when they were mounted. */
  readonly growing: Map<string, GrowingVolume>;
  readonly groups: number[];
  /** Names of attachable volumes, for the node's status. */
  readonly attached: string[];
}

/** How soon content that could not be written (a full disk, no answer) is tried again. */
const retryMs = 10_000;

const gidAnnotation = "pv.beta.kubernetes.io/gid";

export function openVolumeManager(options: VolumeManagerOptions): VolumeManager {
  return new PodVolumes(options);
}

class PodVolumes implements VolumeManager {
  readonly #options: VolumeManagerOptions;
  readonly #directories: PodDirectories;
  readonly #podsByUid = new Map<string, MountedPod>();
  /** Also those that could not be mounted yet: nobody may detach a volume that is about to be used. */
  readonly #mounting = new Map<string, MountedPod>();
  /** Those of an earlier agent that are yet to be looked at. */
  readonly #adopted = new Map<string, AgentPod>();
  readonly #chains = new Map<string, Promise<unknown>>();
  readonly #woken = new Set<string>();
  #wakeUp: (() => void) | undefined;

  constructor(options: VolumeManagerOptions) {
    this.#options = options;
    this.#directories = new PodDirectories(options.root);
  }

  mount(pod: AgentPod, call: Call): Promise<ReadonlyMap<string, MountedVolume>> {
    return this.#inTurn(pod.metadata.uid, async () => {
      const state: MountedPod = { pod, live: new Map(), growing: new Map(), groups: [], attached: [] };
      this.#mounting.set(pod.metadata.uid, state);
      const mounted = new Map<string, MountedVolume>();
      const results = await Promise.allSettled(
        (pod.spec.volumes ?? []).map(async (volume) => {
          mounted.set(volume.name, await this.#mountOne(pod, volume, state, call));
        }),
      );
      const failure = results.find((result) => result.status === "rejected");
      if (failure) throw failure.reason;
      this.#podsByUid.set(pod.metadata.uid, state);
      return mounted;
    });
  }

  async #mountOne(
    pod: AgentPod,
    volume: NonNullable<AgentPod["spec"]["volumes"]>[number],
    state: MountedPod,
    call: Call,
  ): Promise<MountedVolume> {
    if (volume.image) return { hostPath: "", image: { reference: volume.image.reference ?? "" }, readOnly: true };
    const resolved = await this.#explain(pod, volume.name, resolveVolume(pod, volume, this.#options.objects, call));
    const { persistentVolume } = resolved;
    const specName = persistentVolume?.metadata.name ?? volume.name;
    const csi = persistentVolume?.spec?.csi;
    if (csi) {
      state.attached.push(`kubernetes.io/csi/${csi.driver}^${csi.volumeHandle}`);
      this.#options.onInUse?.();
    }
    const plugin = this.#options.plugins.find((candidate) => candidate.supports(resolved.volume));
    if (!plugin) {
      const kinds = Object.keys(resolved.volume).filter((field) => field !== "name");
      throw new Fault(
        "unsupported",
        `MountVolume.SetUp failed for volume "${volume.name}": no volume plugin matched ${kinds.join(", ")}`,
      );
    }
    const { fsGroup, fsGroupChangePolicy } = pod.spec.securityContext ?? {};
    const rootId = this.#options.rootOf?.(pod);
    const request: VolumeMountRequest = {
      pod,
      volume: resolved.volume,
      ...(persistentVolume ? { persistentVolume } : {}),
      path: this.#directories.volume(pod.metadata.uid, plugin.name, volume.name),
      readOnly: resolved.readOnly,
      ...(fsGroup === undefined ? {} : { fsGroup: fsGroup + (rootId ?? 0) }),
      ...(rootId === undefined ? {} : { rootId }),
      ...(fsGroupChangePolicy ? { fsGroupChangePolicy } : {}),
      isMounted: this.#directories.isReady(pod.metadata.uid, plugin.name, volume.name),
    };
    await this.#explain(pod, specName, plugin.mount(request, call));
    if (!request.isMounted) this.#directories.setReady(pod.metadata.uid, plugin.name, volume.name);
    const { claimName } = resolved;
    if (plugin.expand && claimName && persistentVolume) {
      const growing = { pod, plugin, request, claimName, volumeName: specName };
      // A volume that a pod uses already grows beside it; failing that keeps nothing from starting.
      const { growth } = this.#options;
      if (growth && !this.#podsByUid.get(pod.metadata.uid)?.growing.has(volume.name))
        await this.#explain(
          pod,
          specName,
          growth.mounted(growing, call),
          "MountVolume.Setup failed while expanding volume",
        );
      state.growing.set(volume.name, growing);
    }
    if (plugin.refresh) state.live.set(volume.name, { plugin, request });
    const group = Number(persistentVolume?.metadata.annotations?.[gidAnnotation]);
    if (Number.isInteger(group) && group > 0) state.groups.push(group);
    return {
      hostPath: plugin.hostPath?.(request) ?? request.path,
      ...(resolved.readOnly || plugin.isReadOnly ? { readOnly: true } : {}),
      ...(resolved.isBlock ? { isBlock: true } : {}),
    };
  }

  async #explain<T>(
    pod: AgentPod,
    volumeName: string,
    work: Promise<T>,
    doing = "MountVolume.SetUp failed",
  ): Promise<T> {
    try {
      return await work;
    } catch (error) {
      const fault = toFault(error, `pod "${podName(pod)}"`);
      throw new Fault(fault.code, `${doing} for volume "${volumeName}" : ${fault.message}`, {
        cause: error,
      });
    }
  }

  async subPath(request: SubPathRequest): Promise<string> {
    const { pod, containerName, index, volume, subPath } = request;
    await mustAnswer(volume.hostPath);
    const mount = [...(pod.spec.initContainers ?? []), ...pod.spec.containers, ...(pod.spec.ephemeralContainers ?? [])]
      .find((container) => container.name === containerName)
      ?.volumeMounts?.at(index);
    const target = this.#directories.subPath(pod.metadata.uid, mount?.name ?? "volume", containerName, index);
    return bindSubPath(volume.hostPath, subPath, target);
  }

  supplementalGroups(podUid: string): readonly number[] {
    return this.#podsByUid.get(podUid)?.groups ?? [];
  }

  unmountAll(podUid: string, call: Call): Promise<void> {
    return this.#inTurn(podUid, async () => {
      this.#podsByUid.delete(podUid);
      this.#adopted.delete(podUid);
      const errors: unknown[] = [];
      for (const path of this.#directories.subPaths(podUid)) {
        try {
          removeBind(path);
        } catch (error) {
          errors.push(error);
        }
      }
      for (const { pluginName, path } of this.#directories.volumes(podUid)) {
        try {
          const plugin = this.#options.plugins.find((candidate) => candidate.name === pluginName);
          if (!plugin)
            throw new Fault("unsupported", `Cannot unmount ${path}: no plugin "${pluginName}" is here any more`);
          await plugin.unmount(path, call);
        } catch (error) {
          errors.push(error);
        }
      }
      const left = mountsBelow(this.#directories.pod(podUid));
      if (left.length > 0)
        errors.push(new Fault("conflict", `Cannot remove volumes of pod ${podUid}: ${left[0]} is still mounted`));
      if (errors.length > 0) throw toFault(errors[0], `Cannot unmount the volumes of pod ${podUid}`);
      this.#directories.removeEmpty(podUid);
      // Only now may what was attached for it be taken away.
      const wasAttached = (this.#mounting.get(podUid)?.attached.length ?? 0) > 0;
      this.#mounting.delete(podUid);
      const used = [...this.#mounting.values()].flatMap(({ growing }) => [...growing.values()]);
      this.#options.growth?.retain(new Set(used.map(({ volumeName }) => volumeName)));
      if (wasAttached) this.#options.onInUse?.();
    });
  }

  async usage(pluginName: string, path: string, call: Call): Promise<VolumeUsage | undefined> {
    return this.#options.plugins.find(({ name }) => name === pluginName)?.usage?.(path, call);
  }

  async podsWithVolumes(): Promise<readonly string[]> {
    return this.#directories.pods();
  }

  inUse(): readonly string[] {
    return [...new Set([...this.#mounting.values()].flatMap((state) => state.attached))].sort();
  }

  async overLimit(
    pod: AgentPod,
    call: Call,
  ): Promise<{ volume: string; usedBytes: number; limitBytes: number } | undefined> {
    for (const volume of pod.spec.volumes ?? []) {
      const limit = volume.emptyDir?.sizeLimit;
      if (limit === undefined || volume.emptyDir?.medium === "Memory") continue;
      const limitBytes = Number(quantityValue(parseQuantity(limit)));
      const { bytes: usedBytes } = await folderUsage(
        this.#directories.volume(pod.metadata.uid, "kubernetes.io/empty-dir", volume.name),
        call,
      );
      if (limitBytes > 0 && usedBytes > limitBytes) return { volume: volume.name, usedBytes, limitBytes };
    }
    return undefined;
  }

  async localUsage(pod: AgentPod, call: Call): Promise<FolderUsage> {
    const usage = { bytes: 0, inodes: 0 };
    for (const { name, emptyDir, configMap } of pod.spec.volumes ?? []) {
      const isOnDisk = emptyDir ? !emptyDir.medium : configMap !== undefined;
      if (!isOnDisk) continue;
      const pluginName = emptyDir ? "kubernetes.io/empty-dir" : "kubernetes.io/configmap";
      const own = await folderUsage(this.#directories.volume(pod.metadata.uid, pluginName, name), call);
      usage.bytes += own.bytes;
      usage.inodes += own.inodes;
    }
    return usage;
  }

  adopt(pod: AgentPod): void {
    const { uid } = pod.metadata;
    if (this.#mounting.has(uid) || (pod.spec.volumes ?? []).length === 0) return;
    this.#adopted.set(uid, pod);
    this.wake(uid);
  }

  update(pod: AgentPod): void {
    if (this.#adopted.has(pod.metadata.uid)) this.#adopted.set(pod.metadata.uid, pod);
    const state = this.#mounting.get(pod.metadata.uid);
    if (!state || state.pod === pod) return;
    const isSame = isDeepStrictEqual(shownOf(state.pod), shownOf(pod));
    state.pod = pod;
    if (!isSame) this.wake(pod.metadata.uid);
  }

  wake(podUid: string): void {
    this.#woken.add(podUid);
    this.#wakeUp?.();
  }

  async run(call: Call): Promise<void> {
    const { clock, log, refreshMs = 60_000 } = this.#options;
    const failed = new Set<string>();
    let allDueAt = clock.monotonic() + refreshMs;
    while (!call.signal.aborted) {
      const woken = new Promise<void>((resolve) => {
        this.#wakeUp = resolve;
      });
      const dueMs = Math.max(0, allDueAt - clock.monotonic());
      const cancel = clock.after(failed.size > 0 ? Math.min(dueMs, retryMs) : dueMs, () => this.#wakeUp?.());
      if (this.#woken.size === 0) await unlessStopped(woken, call);
      cancel();
      const isAllDue = clock.monotonic() >= allDueAt;
      if (isAllDue) allDueAt = clock.monotonic() + refreshMs;
      const uids = new Set([...this.#woken, ...failed, ...(isAllDue ? this.#podsByUid.keys() : [])]);
      this.#woken.clear();
      failed.clear();
      for (const uid of uids) {
        if (call.signal.aborted) return;
        await this.#refresh(uid, call).catch((error) => {
          log.warn({ err: error, podUid: uid }, "could not refresh a volume");
          failed.add(uid);
        });
      }
    }
  }

  async #refresh(uid: string, call: Call): Promise<void> {
    const adopted = this.#adopted.get(uid);
    if (adopted) {
      // Mounts nothing that is there already, and writes what changed meanwhile.
      if (!this.#mounting.has(uid)) await this.mount(adopted, call);
      this.#adopted.delete(uid);
      return;
    }
    return this.#inTurn(uid, async () => {
      for (const { plugin, request } of this.#podsByUid.get(uid)?.live.values() ?? []) {
        await plugin.refresh?.({ ...request, pod: this.#podsByUid.get(uid)?.pod ?? request.pod }, call);
      }
      await this.#grow(uid, call);
    });
  }

  /** Volumes behind the pod's claims that have become larger. Never throws: the next look tries again. */
  async #grow(uid: string, call: Call): Promise<void> {
    const { growth, log } = this.#options;
    for (const volume of this.#podsByUid.get(uid)?.growing.values() ?? []) {
      await growth?.look(volume, call).catch((error) => {
        if (!call.signal.aborted)
          log.warn({ err: error, podUid: uid, volume: volume.volumeName }, "cannot tell whether a volume should grow");
      });
    }
  }

  #inTurn<T>(uid: string, work: () => Promise<T>): Promise<T> {
    const before = this.#chains.get(uid) ?? Promise.resolve();
    const mine = before.then(work, work);
    // The chain itself never rejects: whoever asked for the work hears of its failure.
    const link = mine.then(
      () => {},
      () => {},
    );
    this.#chains.set(uid, link);
    void link.then(() => {
      if (this.#chains.get(uid) === link) this.#chains.delete(uid);
    });
    return mine;
  }
}

/** What files may show of a pod that can change while it runs. */
function shownOf({ metadata, spec }: AgentPod) {
  const resources = [...(spec.initContainers ?? []), ...spec.containers].map((container) => container.resources);
  return [metadata.labels, metadata.annotations, resources];
}
