// pods/binding: the only way a pod gets a node.

import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import { invalid, required } from "../machinery/field-error.ts";
import { type Answer, jsonAnswer } from "../machinery/answer.ts";
import { asObject, decodeBody } from "./body.ts";
import { claimKind, claimNamespace, timestamp } from "./lifecycle.ts";
import { claimSameName } from "./name.ts";
import { writeOptions } from "./options.ts";
import type { Scope } from "./scope.ts";
import { conflict, invalidObject, notFound } from "../machinery/status.ts";
import type { SubresourceHandler } from "./subresources.ts";
import { updateObject } from "./verbs/update.ts";

const bindingKind = { group: "", version: "v1", kind: "Binding" };

export const podBinding: SubresourceHandler = {
  verbs: ["create"],
  shows: bindingKind,
  answer: (_verb, _path, scope) => bindFrom(scope),
};

async function bindFrom(scope: Scope): Promise<Answer> {
  const binding = asObject(
    decodeBody(await scope.request.body(), scope.request.headers.get("content-type"), "Binding").value,
  );
  claimKind(binding, bindingKind);
  claimNamespace(binding, scope);
  claimSameName(binding, scope.name, bindingKind.kind);
  return bind(scope, binding);
}

/** Gives the pod its node; a pod that has one keeps it. */
export async function bind(scope: Scope, binding: KubeObject): Promise<Answer> {
  const target = binding.target as { kind?: string; name?: string } | undefined;
  const errors = [];
  if (target?.kind && target.kind !== "Node")
    errors.push(invalid("target.kind", target.kind, 'must be empty or "Node"'));
  if (!target?.name) errors.push(required("target.name"));
  if (errors.length > 0) throw invalidObject(bindingKind, scope.name, errors);
  const nodeName = target?.name ?? "";
  const now = timestamp(scope.services.clock.now());
  const updated = await updateObject(scope, {
    options: writeOptions(scope, "UpdateOptions"),
    next: (pod) => bound(scope, pod, binding, nodeName, now),
  });
  if (!updated) throw notFound(scope.definition, scope.name);
  return jsonAnswer({ kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 }, 201);
}

function bound(scope: Scope, pod: KubeObject, binding: KubeObject, nodeName: string, now: string): KubeObject {
  const spec = (pod.spec ?? {}) as { nodeName?: string; schedulingGates?: unknown[] };
  const { metadata } = pod;
  const resource = { group: "", plural: "pods/binding" };
  if (binding.metadata.uid && binding.metadata.uid !== metadata.uid)
    throw conflict(
      resource,
      scope.name,
      `Precondition failed: UID in precondition: ${binding.metadata.uid}, UID in object meta: ${metadata.uid ?? ""}`,
    );
  if (metadata.deletionTimestamp !== undefined)
    throw conflict(resource, scope.name, `pod ${scope.name} is being deleted, cannot be assigned to a host`);
  if (spec.nodeName)
    throw conflict(
      resource,
      scope.name,
      `pod ${scope.name} is already assigned to node ${JSON.stringify(spec.nodeName)}`,
    );
  if ((spec.schedulingGates?.length ?? 0) > 0)
    throw conflict(resource, scope.name, `pod ${scope.name} has non-empty .spec.schedulingGates`);
  spec.nodeName = nodeName;
  pod.spec = spec;
  if (binding.metadata.annotations) metadata.annotations = { ...metadata.annotations, ...binding.metadata.annotations };
  const status = (pod.status ?? {}) as { conditions?: { type: string }[] };
  const others = (status.conditions ?? []).filter((condition) => condition.type !== "PodScheduled");
  const condition = { type: "PodScheduled", status: "True", lastProbeTime: null, lastTransitionTime: now };
  pod.status = { ...status, conditions: [...others, condition] };
  return pod;
}
