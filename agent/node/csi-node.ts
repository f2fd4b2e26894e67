// Tells the cluster which storage drivers this node has: its CSINode object, the node's annotation with their node ids, and its topology
// labels. The only writer of all three; level-driven, so that a lost write is made up for.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { isFault } from "../../plugins/kit/base/fault.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import type { NodeDriver, NodeDrivers } from "../../plugins/kit/contracts/node-drivers.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { KubeObject, Node } from "../../plugins/kit/kube/objects/types.ts";

const nodeIdAnnotation = "csi.volume.kubernetes.io/nodeid";
const retryMs = 5_000;

interface CsiNode extends KubeObject {
  spec: { drivers: object[] };
}

export interface CsiNodeOptions {
  readonly nodeName: string;
  /** Absent on a node without an API server: then nobody asks. */
  readonly client: ApiClient | undefined;
  /** The object as the API has it, once it has. */
  readonly node: () => Node | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

export class CsiNodeWriter implements NodeDrivers {
  readonly nodeName: string;
  readonly #options: CsiNodeOptions;
  readonly #driversByName = new Map<string, NodeDriver>();
  #isDue = false;
  #nodeUid: string | undefined;
  #wake = () => {};

  constructor(options: CsiNodeOptions) {
    this.nodeName = options.nodeName;
    this.#options = options;
  }

  set(driver: NodeDriver): void {
    this.#driversByName.set(driver.name, driver);
    this.#touch();
  }

  remove(name: string): void {
    if (this.#driversByName.delete(name)) this.#touch();
  }

  /** A node that registered again has neither the annotation nor the labels, and its CSINode went with the old object or names that. */
  seen({ metadata }: Node): void {
    const isOther = this.#nodeUid !== undefined && this.#nodeUid !== metadata.uid;
    this.#nodeUid = metadata.uid;
    if (isOther && this.#driversByName.size > 0) this.#touch();
  }

  #touch(): void {
    this.#isDue = true;
    this.#wake();
  }

  async run(call: Call): Promise<void> {
    const { client, clock, log } = this.#options;
    if (!client) return;
    const onAbort = () => this.#wake();
    call.signal.addEventListener("abort", onAbort, { once: true });
    while (!call.signal.aborted) {
      const woken = new Promise<void>((resolve) => (this.#wake = resolve));
      if (!this.#isDue) await woken;
      if (call.signal.aborted) return;
      this.#isDue = false;
      try {
        await this.#write(client, call);
      } catch (error) {
        if (call.signal.aborted) return;
        log.warn({ err: error }, "cannot tell the cluster of this node's storage drivers yet");
        this.#isDue = true;
        await clock.sleep(retryMs, call).catch(() => {});
      }
    }
  }

  async #write(client: ApiClient, call: Call): Promise<void> {
    const drivers = [...this.#driversByName.values()];
    const node = this.#options.node() ?? (await client.get<Node>(resources.nodes, { name: this.nodeName }, call));
    const ids = Object.fromEntries(drivers.map(({ name, nodeId }) => [name, nodeId]));
    const annotation = drivers.length > 0 ? JSON.stringify(ids) : null;
    const labels = Object.assign({}, ...drivers.map(({ topology }) => topology)) as Record<string, string>;
    const body = { metadata: { annotations: { [nodeIdAnnotation]: annotation }, labels } };
    await client.patch(resources.nodes, { name: this.nodeName }, { type: "merge", body }, call);
    await this.#writeCsiNode(client, node, drivers.map(entryOf), call);
  }

  async #writeCsiNode(client: ApiClient, node: Node, drivers: object[], call: Call): Promise<void> {
    const owner = { apiVersion: "v1", kind: "Node", name: this.nodeName, uid: node.metadata.uid ?? "" };
    const body = { metadata: { ownerReferences: [owner] }, spec: { drivers } };
    try {
      await client.patch(resources.csinodes, { name: this.nodeName }, { type: "merge", body }, call);
    } catch (error) {
      if (!isFault(error, "not-found")) throw error;
      const fresh: CsiNode = {
        apiVersion: "storage.k8s.io/v1",
        kind: "CSINode",
        metadata: { name: this.nodeName, ownerReferences: [owner] },
        spec: { drivers },
      };
      await client.create(resources.csinodes, fresh, call);
    }
  }
}

function entryOf({ name, nodeId, topology, maxVolumes }: NodeDriver): object {
  return {
    name,
    nodeID: nodeId,
    topologyKeys: Object.keys(topology).sort(),
    ...(maxVolumes ? { allocatable: { count: maxVolumes } } : {}),
  };
}
