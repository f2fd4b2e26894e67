// The pods of a job: tracked by a finalizer, and in an indexed job named and told by their index.

import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import { podFromTemplate } from "../pods/pod-control.ts";
import { indexFailuresName, indexIgnoredName, indexName, type Job, jobType, trackingFinalizer } from "./objects.ts";

interface Environment {
  env?: { name: string; valueFrom?: unknown; value?: string }[];
}

const variable = {
  name: "JOB_COMPLETION_INDEX",
  valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: `metadata.labels['${indexName}']` } },
};

/** `failures` are those of the pods that had this index before; the new one carries them on. */
export function jobPod(
  job: Job,
  index: number | undefined,
  failures?: { counted: number; ignored: number },
): KubeObject {
  const pod = podFromTemplate({ object: job, type: jobType }, job.spec.template);
  pod.metadata.finalizers = [...new Set([...(pod.metadata.finalizers ?? []), trackingFinalizer])];
  if (index === undefined) return pod;
  const name = job.metadata.name ?? "";
  const { metadata } = pod;
  metadata.generateName = `${name.slice(0, 55)}-${index}-`;
  metadata.labels = { ...metadata.labels, [indexName]: String(index) };
  metadata.annotations = { ...metadata.annotations, [indexName]: String(index) };
  if (failures) {
    metadata.annotations[indexFailuresName] = String(failures.counted);
    if (failures.ignored > 0) metadata.annotations[indexIgnoredName] = String(failures.ignored);
  }
  const spec = pod.spec as { hostname?: string; containers?: Environment[]; initContainers?: Environment[] };
  spec.hostname = `${name}-${index}`.slice(0, 63);
  for (const container of [...(spec.initContainers ?? []), ...(spec.containers ?? [])])
    if (!container.env?.some((known) => known.name === variable.name))
      container.env = [...(container.env ?? []), structuredClone(variable)];
  return pod;
}
