// Turns a manifest into a static pod: checked, completed with what the API server would have defaulted, and named after the node.

import { createHash } from "node:crypto";
import { Fault } from "../../plugins/kit/fault.ts";
import type { Container } from "../../plugins/kit/objects/types.ts";
import { readYamlDocuments } from "../../plugins/kit/yaml.ts";
import { defaultPullPolicy } from "../images/reference.ts";
import { type AgentPod, configAnnotations } from "../pods/agent-pod.ts";

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

const namePattern = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;

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
  const containers = checkContainers(given.spec?.["containers"], "spec.containers", wrong, true);
  const initContainers = checkContainers(given.spec?.["initContainers"], "spec.initContainers", wrong, false);
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
    containers,
    ...(initContainers.length > 0 ? { initContainers } : {}),
    // A static pod stays whatever happens to the node.
    tolerations: [...(pod.spec.tolerations ?? []), { operator: "Exists", effect: "NoExecute" }],
  };
  pod.status = { phase: "Pending" };
  return pod;
}

function checkContainers(
  raw: unknown,
  field: string,
  wrong: (field: string, why: string) => Fault,
  isRequired: boolean,
): Container[] {
  if (raw === undefined && !isRequired) return [];
  if (!Array.isArray(raw) || (isRequired && raw.length === 0))
    throw wrong(field, "must be a list with at least one container");
  return raw.map((item: unknown, index) => {
    const container = item as Container;
    const at = `${field}[${index}]`;
    if (typeof item !== "object" || item === null) throw wrong(at, "is not an object");
    if (typeof container.name !== "string" || !namePattern.test(container.name))
      throw wrong(`${at}.name`, "must be a lower case DNS label");
    if (typeof container.image !== "string" || container.image === "") throw wrong(`${at}.image`, "must name an image");
    for (const list of ["command", "args", "env", "volumeMounts", "ports"] as const) {
      if (container[list] !== undefined && !Array.isArray(container[list]))
        throw wrong(`${at}.${list}`, "must be a list");
    }
    return {
      terminationMessagePath: "/dev/termination-log",
      terminationMessagePolicy: "File",
      imagePullPolicy: defaultPullPolicy(container.image),
      ...container,
    };
  });
}
