// Keeps the node's object: registers it, and writes its status when it changed or five minutes have passed.

import type { Runtime } from "../../cri/api/contract.ts";
import { type Image, ListImagesRequest } from "../../cri/api/gen/runtime.js";
import { type Call, within } from "../../plugins/kit/base/call.ts";
import type { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { isFault } from "../../plugins/kit/base/fault.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { Node, NodeStatus, Taint } from "../../plugins/kit/kube/objects/types.ts";
import { type EvictionSignal, hardAmount, type Threshold } from "../config/eviction-thresholds.ts";
import { nodeSubject, type Recorder } from "../model/recorder.ts";
import { type CapacityInput, capacityOf, foreignResources } from "../model/capacity.ts";
import { fileSystem, type MachineFacts } from "../host/machine.ts";
import { isNews, isOverwritten, nodeStatus, type Pressure, type RuntimeHealth } from "./node-status.ts";

const reportMs = 300_000;
const lookMs = 10_000;
// While the node is not ready it is looked at often: its pods wait for that.
const eagerMs = 200;
const writeMs = 10_000;
const mostImages = 50;

/** The event's reason when a condition becomes true, and when it does not hold. */
const conditionEvents: Readonly<Record<string, readonly [string, string]>> = {
  MemoryPressure: ["NodeHasInsufficientMemory", "NodeHasSufficientMemory"],
  DiskPressure: ["NodeHasDiskPressure", "NodeHasNoDiskPressure"],
  PIDPressure: ["NodeHasInsufficientPID", "NodeHasSufficientPID"],
  Ready: ["NodeReady", "NodeNotReady"],
};

export interface NodeManagerOptions {
  readonly client: ApiClient | undefined;
  readonly runtime: Runtime;
  readonly machine: MachineFacts;
  readonly nodeName: string;
  readonly register: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly addresses: () => readonly string[];
  readonly hasDefaultRoute: () => boolean;
  readonly storageDir: string;
  readonly maxPods: number;
  readonly reserved: CapacityInput["reserved"];
  readonly thresholds: readonly Threshold[];
  readonly extended: () => CapacityInput["extended"];
  readonly pressure: () => Pressure;
  readonly troubles: () => readonly string[];
  readonly volumesInUse: () => readonly string[];
  readonly port: number;
  readonly recorder: Recorder;
  readonly clock: Clock;
  readonly log: Log;
}

export class NodeManager {
  readonly #options: NodeManagerOptions;
  #node: Node | undefined;
  #status: NodeStatus | undefined;
  #health: RuntimeHealth = {
    runtimeTrouble: "container runtime status check may not have completed yet",
    networkTrouble: undefined,
    name: "unknown",
    version: "",
    handlers: [],
  };
  #reportedAt = Number.NEGATIVE_INFINITY;
  #wake = () => {};
  #addresses: string | undefined;
  #hasRoute: boolean | undefined;
  #podCidr = "";
  #trouble = "";

  constructor(options: NodeManagerOptions) {
    this.#options = options;
  }

  /** The node's object as the API has it; undefined before it is registered. */
  node(): Node | undefined {
    return this.#node;
  }

  status(): NodeStatus | undefined {
    return this.#status;
  }

  get isReady(): boolean {
    return (this.#status?.conditions ?? []).some(({ type, status }) => type === "Ready" && status === "True");
  }

  /** As the runtime told when it was last asked. */
  runtimeHandlers(): RuntimeHealth["handlers"] {
    return this.#health.handlers;
  }

  allocatable(): Readonly<Record<string, string>> {
    return this.#capacity().allocatable;
  }

  /** The watch told of our object. */
  seen(node: Node): void {
    const was = this.#node;
    this.#node = node;
    if (was) this.#tellSchedulable(was, node);
    // The node controller sets conditions to Unknown when leases were late: report the status at once.
    if (was && this.#status && isOverwritten(node.status, this.#status)) this.#wake();
    const podCidr = node.spec?.podCIDR ?? "";
    if (podCidr && podCidr !== this.#podCidr) {
      this.#podCidr = podCidr;
      void this.#tellPodCidr(podCidr);
    }
  }

  /** The watch saw the Node object deleted, by a user or because a restored store does not have it. */
  deleted(node: Node): void {
    if (this.#node?.metadata.uid !== node.metadata.uid) return;
    this.#node = undefined;
    this.#status = undefined;
    const { log, nodeName, register } = this.#options;
    log.warn(
      { node: nodeName },
      register ? "node was deleted from the API, registering it again" : "node was deleted from the API",
    );
    this.#wake();
  }

  /** Something changed that the status shows. */
  wake(): void {
    this.#wake();
  }

  async run(call: Call): Promise<void> {
    const { clock } = this.#options;
    while (!call.signal.aborted) {
      const trouble = await this.#look(call).then(
        () => undefined,
        (error: unknown) => error as Error,
      );
      const isWritten = trouble === undefined;
      if (!call.signal.aborted) this.#noteTrouble(trouble);
      // Stopped while it looked: nothing would wake it.
      if (call.signal.aborted) return;
      const delayMs = this.isReady ? lookMs : isWritten ? eagerMs : 1_000;
      await new Promise<void>((resolve) => {
        const cancel = clock.after(delayMs, () => this.#wake());
        this.#wake = () => {
          cancel();
          call.signal.removeEventListener("abort", this.#wake);
          resolve();
        };
        call.signal.addEventListener("abort", this.#wake, { once: true });
      });
    }
  }

  /** Looks once and writes where there is news. */
  async #look(call: Call): Promise<void> {
    const { clock, client } = this.#options;
    this.#health = await this.#askRuntime(call);
    const isMade = client && !this.#node ? await this.#register(client, call) : false;
    this.#noteAddresses();
    this.#noteRoute();
    const next = await this.#compute(call);
    // What we made ourselves a moment ago nobody has heard of.
    const before = isMade ? undefined : (this.#node?.status ?? this.#status);
    const wasReady = this.isReady;
    const isDue = clock.monotonic() - this.#reportedAt >= reportMs;
    const isNew = isNews(this.#status, next) || (this.#node !== undefined && isOverwritten(this.#node.status, next));
    this.#status = next;
    if (isNew) this.#tellConditions(before, next);
    if (isNew && wasReady !== this.isReady) this.#tellReadiness();
    if (!client || !this.#node || (!isNew && !isDue)) return;
    try {
      // As short as kubelet's: after a change of our own address the old connections lead nowhere, and the news must get out.
      await this.#write(client, next, within(writeMs, call));
      this.#reportedAt = clock.monotonic();
    } catch (error) {
      // What was not written is still news.
      this.#status = undefined;
      if (isFault(error, "not-found")) this.#node = undefined;
      throw error;
    }
  }

  async #write(client: ApiClient, status: NodeStatus, call: Call): Promise<void> {
    const { nodeName } = this.#options;
    // Addresses merge by type in the API, which loses the second of two of a type; a list that is left out would stay as it was.
    const addresses = [...(status.addresses ?? []), { $patch: "replace" }];
    const body = { status: { ...status, addresses, volumesInUse: status.volumesInUse ?? null } };
    const at = { name: nodeName, subresource: "status" };
    this.seen(await client.patch<Node>(resources.nodes, at, { type: "strategic", body }, call));
  }

  /** True when it made the node's object. */
  async #register(client: ApiClient, call: Call): Promise<boolean> {
    const { nodeName, register, labels, taints, machine, log } = this.#options;
    const own = {
      "kubernetes.io/hostname": nodeName,
      "kubernetes.io/os": "linux",
      "kubernetes.io/arch": machine.architecture,
      "beta.kubernetes.io/os": "linux",
      "beta.kubernetes.io/arch": machine.architecture,
      ...labels,
    };
    try {
      this.seen(await client.get<Node>(resources.nodes, { name: nodeName }, call));
      this.#tellReboot();
    } catch (error) {
      if (!isFault(error, "not-found")) throw error;
      if (!register) return false;
      const status = await this.#compute(call);
      const node = {
        apiVersion: "v1",
        kind: "Node",
        metadata: {
          name: nodeName,
          labels: own,
          annotations: { "volumes.kubernetes.io/controller-managed-attach-detach": "true" },
        },
        spec: taints.length > 0 ? { taints: [...taints] } : {},
        status,
      };
      this.seen(await client.create<Node>(resources.nodes, node, call));
      log.info({ node: nodeName }, "registered the node");
      return true;
    }
    const missing = Object.entries(own).some(([key, value]) => this.#node?.metadata.labels?.[key] !== value);
    if (!missing || !register) return false;
    const patch = { type: "merge", body: { metadata: { labels: own } } } as const;
    this.seen(await client.patch<Node>(resources.nodes, { name: nodeName }, patch, call));
    return false;
  }

  async #compute(call: Call): Promise<NodeStatus> {
    const { nodeName, machine, addresses, pressure, troubles, volumesInUse, port, clock } = this.#options;
    return nodeStatus({
      nodeName,
      machine,
      addresses: addresses(),
      ...this.#capacity(),
      health: this.#health,
      pressure: pressure(),
      troubles: troubles(),
      images: await this.#images(call),
      volumesInUse: volumesInUse(),
      port,
      previous: this.#node?.status ?? this.#status,
      nowMs: clock.now(),
    });
  }

  #capacity(): ReturnType<typeof capacityOf> {
    const { machine, storageDir, maxPods, reserved, thresholds, extended } = this.#options;
    const storageBytes = fileSystem(storageDir).bytes;
    const own = extended();
    const all = { ...own, ...foreignResources(this.#node?.status?.capacity, own) };
    const kept = (signal: EvictionSignal, bytes: number) => BigInt(Math.floor(hardAmount(thresholds, signal, bytes)));
    return capacityOf({
      machine,
      storageBytes,
      maxPods,
      reserved,
      evictionMemoryBytes: kept("memory.available", Number(machine.memoryBytes)),
      evictionStorageBytes: kept("nodefs.available", storageBytes),
      extended: all,
    });
  }

  async #askRuntime(call: Call): Promise<RuntimeHealth> {
    const { runtime } = this.#options;
    const limited = within(10_000, call);
    try {
      const [version, { status, runtimeHandlers }] = await Promise.all([
        runtime.runtime.version({ version: "" }, limited),
        runtime.runtime.status({ verbose: false }, limited),
      ]);
      const trouble = (type: string) => {
        const condition = (status?.conditions ?? []).find((found) => found.type === type);
        if (condition?.status) return undefined;
        return `${type}=false reason:${condition?.reason ?? "Unknown"} message:${condition?.message ?? ""}`;
      };
      const runtimeTrouble = trouble("RuntimeReady");
      return {
        runtimeTrouble: runtimeTrouble && `container runtime not ready: ${runtimeTrouble}`,
        networkTrouble: trouble("NetworkReady"),
        name: version.runtimeName,
        version: version.runtimeVersion,
        handlers: runtimeHandlers.map(({ name, features }) => ({ name, ...(features ? { features } : {}) })),
      };
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return { ...this.#health, runtimeTrouble: `container runtime is down: ${message}` };
    }
  }

  async #images(call: Call): Promise<NonNullable<NodeStatus["images"]>> {
    try {
      const { images } = await this.#options.runtime.image.listImages(
        ListImagesRequest.create({}),
        within(10_000, call),
      );
      return images
        .sort((a, b) => Number(b.size - a.size))
        .slice(0, mostImages)
        .map((image: Image) => ({ names: [...image.repoDigests, ...image.repoTags], sizeBytes: Number(image.size) }));
    } catch {
      // The runtime's trouble is told by the Ready condition.
      return this.#status?.images ?? [];
    }
  }

  /** Once, and not with every try: a server may be away for days, and a log on a card wears it. */
  #noteTrouble(trouble: Error | undefined): void {
    const { log } = this.#options;
    const now = trouble?.message ?? "";
    if (now === this.#trouble) return;
    if (trouble) log.warn({ err: trouble }, "cannot report the node's status, trying again");
    else log.info({}, "the node's status is reported again");
    this.#trouble = now;
  }

  #noteAddresses(): void {
    const { addresses, log } = this.#options;
    const now = addresses().join(" ");
    if (now === this.#addresses) return;
    if (now === "") log.warn({}, "the node has no address: pods start, but nobody can reach the node yet");
    else if (this.#addresses === "") log.info({ address: now }, "the node has an address");
    else if (this.#addresses) log.info({ from: this.#addresses, to: now }, "the node's address changed");
    this.#addresses = now;
  }

  #noteRoute(): void {
    const { hasDefaultRoute, log } = this.#options;
    const isThere = hasDefaultRoute();
    if (isThere === this.#hasRoute) return;
    if (!isThere) log.warn({}, "there is no default route: images cannot be pulled from beyond this network");
    else if (this.#hasRoute !== undefined) log.info({}, "there is a default route again");
    this.#hasRoute = isThere;
  }

  #tellReadiness(): void {
    const { nodeName, log } = this.#options;
    const ready = this.#status?.conditions?.find(({ type }) => type === "Ready");
    log.info({ node: nodeName, message: ready?.message }, this.isReady ? "the node is ready" : "the node is not ready");
  }

  /** Each condition that is not as the API has it. */
  #tellConditions(before: NodeStatus | undefined, next: NodeStatus): void {
    for (const { type, status } of next.conditions ?? []) {
      const [yes, no] = conditionEvents[type] ?? [];
      const old = before?.conditions?.find((known) => known.type === type)?.status;
      // A node that was never ready has not ceased to be.
      if (!yes || old === status || (type === "Ready" && !old && status !== "True")) continue;
      this.#tell(status === "True" ? yes : no);
    }
  }

  #tellSchedulable(was: Node, now: Node): void {
    const isCordoned = now.spec?.unschedulable ?? false;
    if ((was.spec?.unschedulable ?? false) !== isCordoned)
      this.#tell(isCordoned ? "NodeNotSchedulable" : "NodeSchedulable");
  }

  #tellReboot(): void {
    const { recorder, nodeName, machine } = this.#options;
    const known = this.#node?.status?.nodeInfo?.bootID;
    if (!known || known === machine.bootId) return;
    const message = `Node ${nodeName} has been rebooted, boot id: ${machine.bootId}`;
    recorder.event(nodeSubject(nodeName), "Warning", "Rebooted", message);
  }

  #tell(reason: string | undefined): void {
    const { recorder, nodeName } = this.#options;
    if (reason) recorder.event(nodeSubject(nodeName), "Normal", reason, `Node ${nodeName} status is now: ${reason}`);
  }

  async #tellPodCidr(podCidr: string): Promise<void> {
    const { runtime, log } = this.#options;
    try {
      await runtime.runtime.updateRuntimeConfig({ runtimeConfig: { networkConfig: { podCidr } } }, within(10_000));
      this.#wake();
    } catch (error) {
      log.warn({ podCidr, err: error }, "cannot tell the runtime the pod addresses");
      this.#podCidr = "";
    }
  }
}
