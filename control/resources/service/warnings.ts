// What a service says in vain.

import type { Service } from "../../../plugins/kit/kube/objects/types.ts";

const oldHints = "service.kubernetes.io/topology-aware-hints";

export function warnOfService({ metadata, spec }: Service): string[] {
  const told: string[] = [];
  if (metadata.annotations?.[oldHints] !== undefined)
    told.push(`annotation ${oldHints} is deprecated, please use service.kubernetes.io/topology-mode instead`);
  const isName = spec?.type === "ExternalName";
  if (isName && (spec?.externalIPs?.length ?? 0) > 0)
    told.push('spec.externalIPs is ignored when spec.type is "ExternalName"');
  if (!isName && spec?.externalName) told.push('spec.externalName is ignored when spec.type is not "ExternalName"');
  return told;
}
