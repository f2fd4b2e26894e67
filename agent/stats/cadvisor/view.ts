// What the cAdvisor documents are made of, put together when somebody asks.

import { type Call, uninterrupted, within } from "../../../plugins/kit/base/call.ts";
import type { Clock } from "../../../plugins/kit/base/clock.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import type { Cgroups } from "../../../plugins/kit/os/platform/cgroups.ts";
import { type MachineFacts, machineFacts } from "../../host/machine.ts";
import type { AgentView } from "../../server/contract.ts";
import type { DiskView, NodeDisk } from "../disk-view.ts";
import type { Sampler } from "../sampler.ts";
import type { Snapshot } from "../usage.ts";
import { aliasesOf, childrenOf, lookedAt, type Looked, type Point } from "./containers.ts";
import type { UsagePoint } from "./derived.ts";
import { type FileSystemsOptions, fileSystems, fsStatsDocument, type MountedFileSystem } from "./filesystems.ts";
import type { Inventory } from "./inventory.ts";
import { machineDocument } from "./machine-document.ts";
import { type SpecFacts, specDocument } from "./spec-document.ts";
import { statsDocument } from "./stats-document.ts";

export interface CadvisorOptions {
  readonly view: AgentView;
  readonly sampler: Sampler;
  readonly disk: DiskView;
  readonly cgroups: Cgroups;
  readonly inventory: () => Promise<Inventory>;
  readonly bootedAt: number;
  readonly dataDir: string;
  readonly clock: Clock;
}

/** One look at everything, for one request. */
export interface Look {
  readonly all: ReadonlyMap<string, Looked>;
  readonly snapshot: Snapshot;
  readonly disk: NodeDisk;
  readonly mounted: readonly MountedFileSystem[];
  readonly namespace: string;
}

const askMs = 5_000;

export class CadvisorView {
  readonly options: CadvisorOptions;
  readonly facts: SpecFacts;
  readonly #machine: MachineFacts;
  #runtime: Promise<{ name: string; version: string; api: string }> | undefined;

  constructor(options: CadvisorOptions) {
    this.options = options;
    this.#machine = machineFacts();
    const { cgroups, bootedAt } = options;
    this.facts = { cgroups, bootedAt, memoryBytes: Number(this.#machine.memoryBytes) };
  }

  async look(): Promise<Look> {
    const { sampler, disk } = this.options;
    const snapshot = await sampler.snapshot();
    const found = await disk.look(snapshot.pods);
    const mounted = await fileSystems(this.#mounts(snapshot));
    const { name: namespace } = await this.runtime();
    return { all: lookedAt(sampler.recent), snapshot, disk: found, mounted, namespace };
  }

  /** By path; Fault `not-found` for a group that nobody looks at. */
  named({ all }: Look, name: string): Looked {
    const found = all.get(name);
    if (!found) throw new Fault("not-found", `unknown container ${JSON.stringify(name)}`);
    return found;
  }

  /** The newest so many, oldest first; a group between the machine and its pods is looked at now. */
  async pointsOf({ name, points }: Looked, count: number, call: Call): Promise<readonly Point[]> {
    if (points.length > 0) return count < 0 ? points : points.slice(points.length - Math.min(count, points.length));
    const sample = count === 0 ? undefined : await this.options.sampler.sampleGroup(name, call);
    return sample ? [{ sample }] : [];
  }

  /** Version 1's ContainerInfo. */
  async info(look: Look, looked: Looked, count: number, call: Call): Promise<object> {
    const points = await this.pointsOf(looked, count, call);
    const below = childrenOf(look.all, looked.name).map(({ name }) => ({ name }));
    const { container } = looked;
    return {
      ...(container ? { id: container.id } : {}),
      name: looked.name,
      ...(container ? { aliases: aliasesOf(looked), namespace: look.namespace } : {}),
      ...(below.length > 0 ? { subcontainers: below } : {}),
      spec: specDocument(looked, this.facts),
      stats: points.map((point, index) =>
        statsDocument(point, index === points.length - 1 ? this.filesystemsOf(look, looked) : []),
      ),
    };
  }

  /** Of the machine all; of a container what it wrote into its root. */
  filesystemsOf({ disk, mounted }: Look, { name, pod, container }: Looked): object[] {
    if (name === "/") return mounted.map(fsStatsDocument);
    const written = pod && container && disk.pods.get(pod.metadata.uid)?.roots.get(container.id);
    if (!written) return [];
    const holder = mounted.find(({ labels }) => labels.includes("images"));
    const base = {
      device: holder?.device ?? "",
      type: "vfs",
      capacity: disk.images?.capacityBytes ?? 0,
      usage: written.bytes,
      base_usage: written.bytes,
      available: disk.images?.availableBytes ?? 0,
    };
    return [
      { ...base, has_inodes: written.inodes > 0, inodes: written.inodes, inodes_free: disk.images?.inodesFree ?? 0 },
    ];
  }

  /** Points for means and percentiles, as far back as they are remembered. */
  usageOf({ name, container, points }: Looked): readonly UsagePoint[] {
    const { history } = this.options.sampler;
    if (name === "/") return history.node();
    if (container) return history.container(container.id);
    return points.map(({ sample, nanoCores }) => ({
      at: sample.at,
      milliCpu: (nanoCores ?? 0) / 1e6,
      memory: sample.memory?.workingSetBytes ?? 0,
    }));
  }

  async machine(): Promise<object> {
    const snapshot = await this.options.sampler.snapshot();
    return machineDocument({
      facts: this.#machine,
      inventory: await this.options.inventory(),
      swapBytes: snapshot.node.memory.swapTotalBytes,
      fileSystems: await fileSystems(this.#mounts(snapshot)),
      now: this.options.clock.now(),
    });
  }

  get machineFacts(): MachineFacts {
    return this.#machine;
  }

  /** The runtime's name and version; unknown ones are asked for again the next time. */
  runtime(): Promise<{ name: string; version: string; api: string }> {
    this.#runtime ??= this.options.view.runtime.runtime
      .version({ version: "" }, within(askMs, uninterrupted))
      .then(({ runtimeName, runtimeVersion, runtimeApiVersion }) => ({
        name: runtimeName,
        version: runtimeVersion,
        api: runtimeApiVersion,
      }))
      .catch(() => {
        this.#runtime = undefined;
        return { name: "", version: "", api: "" };
      });
    return this.#runtime;
  }

  #mounts({ node }: Snapshot): FileSystemsOptions {
    return { imagesAt: this.options.dataDir, disks: node.disks };
  }
}
