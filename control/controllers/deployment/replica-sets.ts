// The replica sets of a deployment: making the one for the current template, sizing them, and forgetting the oldest.

import type { Call } from "../../../plugins/kit/base/call.ts";
import { isFault } from "../../../plugins/kit/base/fault.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import type { ControllerContext } from "../../manager/contract.ts";
import { controllerReference, isControlledBy } from "../../manager/owners.ts";
import { highestRevision, maxReplicas, revisionOf } from "./limits.ts";
import { annotations, type Deployment, type ReplicaSet, replicasOf, templateHashLabel } from "./objects.ts";
import { newSetReplicas } from "./plan.ts";
import { byAge, isSameTemplate, templateHash } from "./template.ts";

export const deploymentType = { apiVersion: "apps/v1", kind: "Deployment" };
const setType = { apiVersion: "apps/v1", kind: "ReplicaSet" };

/** Annotations of the deployment that its replica sets do not carry, or that are theirs alone. */
const ownAnnotations = new Set<string>(Object.values(annotations));

export class ReplicaSets {
  readonly #context: ControllerContext;

  constructor(context: ControllerContext) {
    this.#context = context;
  }

  /** What the set of the deployment's template is called. */
  nameFor({ metadata, spec, status }: Deployment): string {
    return `${metadata.name}-${templateHash(spec.template, status?.collisionCount)}`;
  }

  /** Makes the set of the deployment's template. `collision` when the name is taken by a set of another template. */
  async create(
    deployment: Deployment,
    oldSets: readonly ReplicaSet[],
    leaving: number,
    call: Call,
  ): Promise<ReplicaSet | "collision"> {
    const { client } = this.#context;
    const { namespace = "", name = "" } = deployment.metadata;
    const hash = templateHash(deployment.spec.template, deployment.status?.collisionCount);
    const labels = { ...deployment.spec.template.metadata?.labels, [templateHashLabel]: hash };
    const revision = highestRevision(oldSets) + 1n;
    const set = {
      ...setType,
      metadata: {
        namespace,
        name: `${name}-${hash}`,
        labels,
        annotations: {
          ...this.#carried(deployment),
          ...this.#sizes(deployment),
          [annotations.revision]: String(revision),
        },
        ownerReferences: [controllerReference(deployment, deploymentType)],
      },
      spec: {
        replicas: newSetReplicas(deployment, oldSets, 0, leaving),
        minReadySeconds: deployment.spec.minReadySeconds ?? 0,
        selector: {
          ...deployment.spec.selector,
          matchLabels: { ...deployment.spec.selector.matchLabels, [templateHashLabel]: hash },
        },
        template: { ...deployment.spec.template, metadata: { ...deployment.spec.template.metadata, labels } },
      },
    } as unknown as KubeObject;
    try {
      const created = await client.create<ReplicaSet>(resources.replicasets, set, call, { namespace });
      if (replicasOf(created) > 0) this.#scaled(deployment, created, "up", 0);
      return created;
    } catch (error) {
      if (!isFault(error, "already-exists")) throw error;
      const existing = await client.get<ReplicaSet>(
        resources.replicasets,
        { namespace, name: `${name}-${hash}` },
        call,
      );
      const isOurs =
        isControlledBy(existing, deployment) && isSameTemplate(existing.spec.template, deployment.spec.template);
      return isOurs ? existing : "collision";
    }
  }

  /** Sets replicas and the annotations that remember for which size; does nothing when all is so already. */
  async resize(deployment: Deployment, set: ReplicaSet, replicas: number, call: Call): Promise<void> {
    const sizes = this.#sizes(deployment);
    const before = replicasOf(set);
    const isSized = Object.entries(sizes).every(([key, value]) => set.metadata.annotations?.[key] === value);
    if (before === replicas && isSized) return;
    const { namespace = "", name = "" } = set.metadata;
    const body = {
      metadata: { resourceVersion: set.metadata.resourceVersion, annotations: sizes },
      spec: { replicas },
    };
    await this.#context.client.patch(resources.replicasets, { namespace, name }, { type: "merge", body }, call);
    if (before !== replicas) {
      this.#scaled(deployment, { ...set, spec: { ...set.spec, replicas } }, replicas > before ? "up" : "down", before);
    }
  }

  /** The newest set carries the highest revision and the deployment's annotations; tells the revision. */
  async refresh(
    deployment: Deployment,
    newSet: ReplicaSet,
    oldSets: readonly ReplicaSet[],
    call: Call,
  ): Promise<bigint> {
    const highest = highestRevision(oldSets);
    const revision = revisionOf(newSet) > highest ? revisionOf(newSet) : highest + 1n;
    const wanted: Record<string, string> = { ...this.#carried(deployment), [annotations.revision]: String(revision) };
    const former = revisionOf(newSet);
    if (former > 0n && former !== revision) {
      const history = newSet.metadata.annotations?.[annotations.revisionHistory];
      wanted[annotations.revisionHistory] = history ? `${history},${former}` : String(former);
    }
    const isCurrent = Object.entries(wanted).every(([key, value]) => newSet.metadata.annotations?.[key] === value);
    const minReadySeconds = deployment.spec.minReadySeconds ?? 0;
    if (!isCurrent || (newSet.spec.minReadySeconds ?? 0) !== minReadySeconds) {
      const { namespace = "", name = "" } = newSet.metadata;
      const body = { metadata: { annotations: wanted }, spec: { minReadySeconds } };
      await this.#context.client.patch(resources.replicasets, { namespace, name }, { type: "merge", body }, call);
    }
    return revision;
  }

  /** Old sets beyond the history limit go, oldest revision first; only those that are empty for sure. */
  async cleanUp(deployment: Deployment, oldSets: readonly ReplicaSet[], call: Call): Promise<void> {
    const limit = deployment.spec.revisionHistoryLimit ?? 10;
    const empty = byAge(oldSets)
      .filter((set) => !set.metadata.deletionTimestamp)
      .sort((a, b) => Number(revisionOf(a) - revisionOf(b)));
    for (const set of empty.slice(0, Math.max(0, empty.length - limit))) {
      const isEmpty = replicasOf(set) === 0 && (set.status?.replicas ?? 0) === 0;
      if (!isEmpty || (set.metadata.generation ?? 0) > (set.status?.observedGeneration ?? 0)) continue;
      const { namespace = "", name = "" } = set.metadata;
      try {
        await this.#context.client.delete(resources.replicasets, { namespace, name }, call);
      } catch (error) {
        if (!isFault(error, "not-found")) throw error;
      }
    }
  }

  #sizes(deployment: Deployment): Record<string, string> {
    return {
      [annotations.desiredReplicas]: String(deployment.spec.replicas ?? 1),
      [annotations.maxReplicas]: String(maxReplicas(deployment)),
    };
  }

  #carried(deployment: Deployment): Record<string, string> {
    return Object.fromEntries(
      Object.entries(deployment.metadata.annotations ?? {}).filter(([key]) => !ownAnnotations.has(key)),
    );
  }

  #scaled(deployment: Deployment, set: ReplicaSet, direction: "up" | "down", from: number): void {
    const subject = { ...deploymentType, metadata: deployment.metadata };
    const message = `Scaled ${direction} replica set ${set.metadata.name} from ${from} to ${replicasOf(set)}`;
    this.#context.events.event(subject, "Normal", "ScalingReplicaSet", message);
  }
}
