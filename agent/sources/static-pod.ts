// Turns a manifest into a static pod: checked, completed with what the API server would have defaulted, and named after the node.

import { createHash } from "node:crypto";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { Container } from "../../plugins/kit/kube/objects/types.ts";
import { readYamlDocuments } from "../../plugins/kit/base/yaml.ts";
import { defaultPullPolicy } from "../model/image-reference.ts";
import { type AgentPod, configAnnotations, podName } from "../model/agent-pod.ts";
import { checkPodSpec, namePattern } from "./manifest-check.ts";

export type ManifestSource = "file" | "http";

/** Every pod of a text. Fault `invalid` that names the place and the field. */
export function readManifest(text: string, where: string, source: ManifestSource, nodeName: string): AgentPod[] {
  const pods: AgentPod[] = [];
  for (const document of readYamlDocuments(text, where)) {
    if (document === null || document === undefined) continue;
    const { kind, items } = document as { kind?: string; items?: unknown[] };
    const list = kind === "PodList" || kind === "List" ? (items ?? []) : [document];
    for (const item of list) pods.push(staticPod(item, where, source, nodeName));
  }
  return pods;
}

function staticPod(raw: unknown, where: string, source: ManifestSource, nodeName: string): AgentPod {
  const wrong = (field: string, why: string) => new Fault("invalid", `Cannot run the pod in ${where}: ${field} ${why}`);
  if (typeof raw !== "object" || raw === null || Array.isArray(raw)) throw wrong("the document", "is not an object");
  const given = raw as {
    apiVersion?: unknown;
    kind?: unknown;
    metadata?: Record<string, unknown>;
    spec?: Record<string, unknown>;
  };
  if (given.apiVersion !== "v1") throw wrong("apiVersion", `must be "v1", not ${JSON.stringify(given.apiVersion)}`);
  if (given.kind !== "Pod") throw wrong("kind", `must be "Pod", not ${JSON.stringify(given.kind)}`);
  const name = given.metadata?.["name"];
  if (typeof name !== "string" || !namePattern.test(name))
    throw wrong("metadata.name", "must be a lower case DNS name");
  checkPodSpec(given.spec, wrong);
  const namespace = (given.metadata?.["namespace"] as string | undefined) ?? "default";
  const pod = structuredClone(raw) as AgentPod;
  const hash = createHash("md5")
    .update(JSON.stringify([pod, where, nodeName]))
    .digest("hex");
  const uid = pod.metadata.uid ?? hash;
  pod.metadata = {
    ...pod.metadata,
    name: `${name}-${nodeName.toLowerCase()}`,
    namespace,
    uid,
    annotations: {
      ...pod.metadata.annotations,
      [configAnnotations.source]: source,
      [configAnnotations.hash]: hash,
    },
  };
  pod.spec = {
    restartPolicy: "Always",
    terminationGracePeriodSeconds: 30,
    dnsPolicy: "ClusterFirst",
    enableServiceLinks: true,
    securityContext: {},
    schedulerName: "default-scheduler",
    ...pod.spec,
    nodeName,
    containers: pod.spec.containers.map(defaulted),
    ...(pod.spec.initContainers ? { initContainers: pod.spec.initContainers.map(defaulted) } : {}),
    // A static pod stays whatever happens to the node.
    tolerations: [...(pod.spec.tolerations ?? []), { operator: "Exists", effect: "NoExecute" }],
  };
  pod.status = { phase: "Pending" };
  return pod;
}

function defaulted(container: Container): Container {
  return {
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
    imagePullPolicy: defaultPullPolicy(container.image ?? ""),
    ...container,
  };
}

/** Of two pods of one name only the first runs; `tell` is told of the other. */
export function withoutNamesakes(
  pods: readonly { readonly pod: AgentPod; readonly where: string }[],
  tell: (message: string) => void,
): AgentPod[] {
  const first = new Map<string, { pod: AgentPod; where: string }>();
  for (const { pod, where } of pods) {
    const known = first.get(podName(pod));
    if (known) tell(`Cannot run the pod in ${where}: metadata.name is that of the pod in ${known.where}, too`);
    else first.set(podName(pod), { pod, where });
  }
  return [...first.values()].map(({ pod }) => pod);
}
