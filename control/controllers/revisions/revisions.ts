// The history of a template as ControllerRevisions: one for each state it had, numbered in the order in which they were last wanted.

import type { Call } from "../../../plugins/kit/base/call.ts";
import type { ApiClient } from "../../../plugins/kit/kube/client/api-client.ts";
import { isFault } from "../../../plugins/kit/base/fault.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { KubeObject, ObjectMeta } from "../../../plugins/kit/kube/objects/types.ts";
import { labelSelectorOf } from "../../../plugins/kit/kube/selector.ts";
import { controllerReference, isControlledBy } from "../../manager/owners.ts";
import { deepEqual } from "../../machinery/equal.ts";
import { templateHash } from "../deployment/template.ts";
import { claim } from "../pods/claim.ts";
import type { PodTemplate } from "../pods/pod-control.ts";
import { dataOf, type TemplateData, templateOf } from "./template-data.ts";

/** On pods, and on the revisions of daemon sets. */
export const revisionLabel = "controller-revision-hash";
/** On the revisions of stateful sets. */
export const hashLabel = "controller.kubernetes.io/hash";

export interface ControllerRevision {
  readonly metadata: ObjectMeta;
  readonly revision: number;
  readonly data?: TemplateData;
}

export interface RevisionOwner {
  readonly metadata: ObjectMeta;
  readonly spec: {
    readonly selector?: { matchLabels?: Record<string, string> };
    readonly template: PodTemplate;
    readonly revisionHistoryLimit?: number;
  };
  readonly status?: { readonly collisionCount?: number };
}

export interface History {
  /** Oldest first. */
  readonly all: readonly ControllerRevision[];
  readonly newest: ControllerRevision;
}

export const hashOf = (revision: ControllerRevision): string => revision.metadata.labels?.[revisionLabel] ?? "";

const ordered = (revisions: readonly ControllerRevision[]) => [...revisions].sort((a, b) => a.revision - b.revision);

export class Revisions {
  readonly #client: ApiClient;
  readonly #list: (namespace: string) => readonly ControllerRevision[];
  readonly #type: { apiVersion: string; kind: string };
  readonly #label: string;

  /** `label` is that by which a revision bears its hash. */
  constructor(
    client: ApiClient,
    list: (namespace: string) => readonly ControllerRevision[],
    type: { apiVersion: string; kind: string },
    label: string,
  ) {
    this.#client = client;
    this.#list = list;
    this.#type = type;
    this.#label = label;
  }

  /** The history with the owner's template as its newest state; "collision" when the name it would get is another's. */
  async sync(owner: RevisionOwner, call: Call): Promise<History | "collision"> {
    const { namespace = "" } = owner.metadata;
    const selector = labelSelectorOf(owner.spec.selector);
    const options = { client: this.#client, resource: resources.controllerrevisions, ownerType: this.#type };
    await claim(this.#list(namespace), { ...options, owner, selector }, call);
    const known = ordered(this.#list(namespace).filter((revision) => isControlledBy(revision, owner)));
    const data = dataOf(owner.spec.template);
    const last = known.at(-1);
    // However it was written down then: another form of the same template is no other state.
    const equal = known.findLast((revision) => deepEqual(dataOf(templateOf(revision.data)), data));
    if (equal && equal === last) return { all: known, newest: equal };
    const next = (last?.revision ?? 0) + 1;
    const made = equal ? await this.#renumber(equal, next, call) : await this.#create(owner, data, next, call);
    if (made === "collision") return made;
    return { all: [...known.filter((revision) => revision !== equal), made], newest: made };
  }

  /** An older state is wanted again: it becomes the newest. */
  #renumber(revision: ControllerRevision, number: number, call: Call): Promise<ControllerRevision> {
    return this.#client.update(resources.controllerrevisions, { ...revision, revision: number }, call);
  }

  async #create(
    owner: RevisionOwner,
    data: object,
    number: number,
    call: Call,
  ): Promise<ControllerRevision | "collision"> {
    const { namespace = "", name = "" } = owner.metadata;
    const hash = templateHash(owner.spec.template, owner.status?.collisionCount);
    const object: KubeObject = {
      apiVersion: "apps/v1",
      kind: "ControllerRevision",
      metadata: {
        namespace,
        name: `${name}-${hash}`,
        labels: { ...owner.spec.template.metadata?.labels, [this.#label]: hash },
        annotations: { ...owner.metadata.annotations },
        ownerReferences: [controllerReference(owner, this.#type)],
      },
      data,
      revision: number,
    };
    try {
      return await this.#client.create(resources.controllerrevisions, object, call, { namespace });
    } catch (error) {
      if (isFault(error, "already-exists")) return "collision";
      throw error;
    }
  }

  /** Forgets the oldest states beyond the limit that no pod is of. */
  async truncate(
    owner: RevisionOwner,
    { all, newest }: History,
    isLive: (revision: ControllerRevision) => boolean,
    call: Call,
  ): Promise<void> {
    const old = all.filter((revision) => revision !== newest && !isLive(revision));
    for (const revision of old.slice(0, Math.max(0, old.length - (owner.spec.revisionHistoryLimit ?? 10)))) {
      const { namespace = "", name = "" } = revision.metadata;
      try {
        await this.#client.delete(resources.controllerrevisions, { namespace, name }, call);
      } catch (error) {
        if (!isFault(error, "not-found")) throw error;
      }
    }
  }
}
