// The checks of the restricted level: current hardening practice.

import type { Container, Volume } from "../../kit/kube/objects/types.ts";
import { procMount } from "./baseline.ts";
import {
  badContainers,
  type Check,
  containersNamed,
  type Finding,
  finding,
  isWindows,
  plural,
  type PodView,
  quoted,
  setters,
} from "./check.ts";

const safeVolumes = new Set([
  "configMap",
  "csi",
  "downwardAPI",
  "emptyDir",
  "ephemeral",
  "persistentVolumeClaim",
  "projected",
  "secret",
]);

export const restrictedChecks: readonly Check[] = [
  {
    id: "allowPrivilegeEscalation",
    level: "restricted",
    run(pod) {
      if (isWindows(pod)) return undefined;
      const names = badContainers(pod, (container) => container.securityContext?.allowPrivilegeEscalation !== false);
      if (names.length === 0) return undefined;
      return finding(
        "allowPrivilegeEscalation != false",
        `${containersNamed(names)} must set securityContext.allowPrivilegeEscalation=false`,
      );
    },
  },
  { id: "capabilities_restricted", level: "restricted", overrides: ["capabilities_baseline"], run: capabilities },
  { id: "procMount_restricted", level: "restricted", overrides: ["procMount"], run: procMount },
  { id: "restrictedVolumes", level: "restricted", overrides: ["hostPathVolumes"], run: volumes },
  { id: "runAsNonRoot", level: "restricted", withoutUserNamespacesSince: 35, run: runAsNonRoot },
  {
    id: "runAsUser",
    level: "restricted",
    withoutUserNamespacesSince: 35,
    run(pod) {
      const own = pod.spec.securityContext?.runAsUser === 0;
      const names = badContainers(pod, (container) => container.securityContext?.runAsUser === 0);
      if (!own && names.length === 0) return undefined;
      return finding("runAsUser=0", `${setters(own, names)} must not set runAsUser=0`);
    },
  },
  { id: "seccompProfile_restricted", level: "restricted", overrides: ["seccompProfile_baseline"], run: seccomp },
];

function capabilities(pod: PodView): Finding | undefined {
  if (isWindows(pod)) return undefined;
  const extra = (container: Container) =>
    (container.securityContext?.capabilities?.add ?? []).filter((name) => name !== "NET_BIND_SERVICE");
  const keeping = badContainers(pod, (container) => !container.securityContext?.capabilities?.drop?.includes("ALL"));
  const adding = badContainers(pod, (container) => extra(container).length > 0);
  const added = [...new Set(pod.containers.flatMap(extra))].sort();
  const parts = [
    ...(keeping.length > 0 ? [`${containersNamed(keeping)} must set securityContext.capabilities.drop=["ALL"]`] : []),
    ...(adding.length > 0
      ? [`${containersNamed(adding)} must not include ${quoted(added)} in securityContext.capabilities.add`]
      : []),
  ];
  return parts.length === 0 ? undefined : finding("unrestricted capabilities", parts.join("; "));
}

function volumes({ spec }: PodView): Finding | undefined {
  const typeOf = (volume: Volume) => Object.keys(volume).find((key) => key !== "name") ?? "unknown";
  const bad = (spec.volumes ?? []).filter((volume) => !safeVolumes.has(typeOf(volume)));
  if (bad.length === 0) return undefined;
  const names = bad.map((volume) => volume.name);
  const types = [...new Set(bad.map(typeOf))].sort();
  return finding(
    "restricted volume types",
    `${plural(names.length, "volume", "volumes")} ${quoted(names)} ${plural(names.length, "uses", "use")} restricted volume ${plural(types.length, "type", "types")} ${quoted(types)}`,
  );
}

function runAsNonRoot(pod: PodView): Finding | undefined {
  const own = pod.spec.securityContext?.runAsNonRoot;
  const refusing = badContainers(pod, (container) => container.securityContext?.runAsNonRoot === false);
  if (own === false || refusing.length > 0)
    return finding(
      "runAsNonRoot != true",
      `${setters(own === false, refusing)} must not set securityContext.runAsNonRoot=false`,
    );
  if (own === true) return undefined;
  const silent = badContainers(pod, (container) => container.securityContext?.runAsNonRoot === undefined);
  if (silent.length === 0) return undefined;
  return finding(
    "runAsNonRoot != true",
    `pod or ${containersNamed(silent)} must set securityContext.runAsNonRoot=true`,
  );
}

function seccomp(pod: PodView): Finding | undefined {
  if (isWindows(pod)) return undefined;
  const isGood = (type: string | undefined) => type === "RuntimeDefault" || type === "Localhost";
  const own = pod.spec.securityContext?.seccompProfile?.type;
  const typeOf = (container: Container) => container.securityContext?.seccompProfile?.type;
  const wrong = badContainers(pod, (container) => typeOf(container) !== undefined && !isGood(typeOf(container)));
  const silent = isGood(own) ? [] : badContainers(pod, (container) => typeOf(container) === undefined);
  const isPodBad = own !== undefined && !isGood(own);
  const values = [
    ...new Set([own, ...pod.containers.map(typeOf)].filter((type) => type !== undefined && !isGood(type)) as string[]),
  ].sort();
  if (isPodBad || wrong.length > 0) {
    return finding(
      "seccompProfile",
      `${setters(isPodBad, wrong)} must not set securityContext.seccompProfile.type to ${quoted(values)}`,
    );
  }
  if (silent.length === 0) return undefined;
  return finding(
    "seccompProfile",
    `pod or ${containersNamed(silent)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`,
  );
}
