// Creating and deleting pods on behalf of a controller, with the events that upstream words.

import type { Call } from "../../../plugins/kit/base/call.ts";
import { type Fault, isFault, toFault } from "../../../plugins/kit/base/fault.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { KubeObject, ObjectMeta, Pod, PodSpec } from "../../../plugins/kit/kube/objects/types.ts";
import type { ControllerContext } from "../../manager/contract.ts";
import { controllerReference } from "../../manager/owners.ts";

export interface PodTemplate {
  readonly metadata?: ObjectMeta;
  readonly spec?: PodSpec;
}

export interface PodOwner {
  readonly object: Pick<KubeObject, "metadata">;
  readonly type: { apiVersion: string; kind: string };
}

/** Room for the generated ending within the 63 characters of a host name. */
const longestPrefix = 58;

export function podFromTemplate(owner: PodOwner, template: PodTemplate, name?: string): KubeObject {
  const { labels, annotations, finalizers } = template.metadata ?? {};
  const prefix = `${owner.object.metadata.name ?? ""}-`;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      namespace: owner.object.metadata.namespace ?? "",
      ...(name ? { name } : { generateName: prefix.length > longestPrefix ? prefix.slice(0, longestPrefix) : prefix }),
      labels: { ...labels },
      annotations: { ...annotations },
      ...(finalizers ? { finalizers: [...finalizers] } : {}),
      ownerReferences: [controllerReference(owner.object, owner.type)],
    },
    spec: structuredClone(template.spec) ?? {},
  };
}

export class PodControl {
  readonly #context: Pick<ControllerContext, "client" | "events">;

  constructor(context: Pick<ControllerContext, "client" | "events">) {
    this.#context = context;
  }

  async create(owner: PodOwner, pod: KubeObject, call: Call): Promise<Pod> {
    const { client, events } = this.#context;
    const subject = { ...owner.type, metadata: owner.object.metadata };
    try {
      const created = await client.create<Pod>(resources.pods, pod, call, { namespace: pod.metadata.namespace ?? "" });
      events.event(subject, "Normal", "SuccessfulCreate", `Created pod: ${created.metadata.name}`);
      return created;
    } catch (error) {
      const fault = toFault(error, "create pod");
      // In a namespace that is going away nothing can be created and nobody needs to hear of it.
      if (!isNamespaceGoing(fault))
        events.event(subject, "Warning", "FailedCreate", `Error creating: ${fault.message}`);
      throw fault;
    }
  }

  /** A pod that is gone already is fine. */
  async delete(owner: PodOwner, pod: Pod, call: Call): Promise<void> {
    const { client, events } = this.#context;
    const { namespace = "", name = "", uid } = pod.metadata;
    const subject = { ...owner.type, metadata: owner.object.metadata };
    try {
      await client.delete(resources.pods, { namespace, name }, call, uid ? { preconditions: { uid } } : {});
      events.event(subject, "Normal", "SuccessfulDelete", `Deleted pod: ${name}`);
    } catch (error) {
      if (isFault(error, "not-found", "conflict")) return;
      const fault = toFault(error, `delete pod "${name}"`);
      events.event(subject, "Warning", "FailedDelete", `Error deleting: ${fault.message}`);
      throw fault;
    }
  }
}

export function isNamespaceGoing(fault: Fault): boolean {
  const status = fault.details as { details?: { causes?: { reason?: string }[] } } | undefined;
  return status?.details?.causes?.some((cause) => cause.reason === "NamespaceTerminating") ?? false;
}
