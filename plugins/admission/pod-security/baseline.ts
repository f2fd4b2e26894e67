// The checks of the baseline level: known ways out of a container are closed.

import { safeSysctls } from "../../kit/kube/objects/safe-sysctls.ts";
import type { Container } from "../../kit/kube/objects/types.ts";
import {
  badContainers,
  type Check,
  containersNamed,
  type Finding,
  finding,
  plural,
  type PodView,
  quoted,
  setters,
} from "./check.ts";

const defaultCapabilities = new Set(
  "AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE SETFCAP SETGID SETPCAP SETUID SYS_CHROOT".split(
    " ",
  ),
);
const safeSelinuxTypes = new Set(["", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"]);
const appArmorPrefix = "container.apparmor.security.beta.kubernetes.io/";

export const baselineChecks: readonly Check[] = [
  { id: "appArmorProfile", level: "baseline", run: appArmor },
  { id: "capabilities_baseline", level: "baseline", run: capabilities },
  {
    id: "hostNamespaces",
    level: "baseline",
    run({ spec }) {
      const used = (["hostNetwork", "hostPID", "hostIPC"] as const).filter((field) => spec[field]);
      if (used.length === 0) return undefined;
      return finding("host namespaces", used.map((field) => `${field}=true`).join(", "));
    },
  },
  {
    id: "hostPathVolumes",
    level: "baseline",
    run({ spec }) {
      const names = (spec.volumes ?? []).filter((volume) => volume.hostPath).map((volume) => volume.name);
      if (names.length === 0) return undefined;
      return finding("hostPath volumes", `${plural(names.length, "volume", "volumes")} ${quoted(names)}`);
    },
  },
  { id: "hostPorts", level: "baseline", run: hostPorts },
  { id: "hostProbesAndHostLifecycle", level: "baseline", run: probeHosts },
  {
    id: "privileged",
    level: "baseline",
    run(pod) {
      const names = badContainers(pod, (container) => container.securityContext?.privileged === true);
      if (names.length === 0) return undefined;
      return finding("privileged", `${containersNamed(names)} must not set securityContext.privileged=true`);
    },
  },
  { id: "procMount", level: "baseline", withoutUserNamespacesSince: 35, run: procMount },
  { id: "seLinuxOptions", level: "baseline", run: seLinux },
  { id: "seccompProfile_baseline", level: "baseline", run: seccomp },
  {
    id: "sysctls",
    level: "baseline",
    run({ spec }) {
      const names = (spec.securityContext?.sysctls ?? [])
        .map(({ name }) => name)
        .filter((name) => !safeSysctls.has(name));
      return names.length === 0 ? undefined : finding("forbidden sysctls", names.join(", "));
    },
  },
  { id: "windowsHostProcess", level: "baseline", run: hostProcess },
];

function capabilities(pod: PodView): Finding | undefined {
  const extra = (container: Container) =>
    (container.securityContext?.capabilities?.add ?? []).filter((name) => !defaultCapabilities.has(name));
  const names = badContainers(pod, (container) => extra(container).length > 0);
  if (names.length === 0) return undefined;
  const added = [...new Set(pod.containers.flatMap(extra))].sort();
  return finding(
    "non-default capabilities",
    `${containersNamed(names)} must not include ${quoted(added)} in securityContext.capabilities.add`,
  );
}

function hostPorts(pod: PodView): Finding | undefined {
  const used = (container: Container) =>
    (container.ports ?? []).flatMap(({ hostPort }) => (hostPort ? [hostPort] : []));
  const names = badContainers(pod, (container) => used(container).length > 0);
  if (names.length === 0) return undefined;
  const ports = [...new Set(pod.containers.flatMap(used))].map(String).sort();
  const verb = plural(names.length, "uses", "use");
  return finding(
    "hostPort",
    `${containersNamed(names)} ${verb} ${plural(ports.length, "hostPort", "hostPorts")} ${ports.join(", ")}`,
  );
}

/** The node asks what a probe or hook names: with a host in it a pod would have it ask others. */
function probeHosts(pod: PodView): Finding | undefined {
  const used = ({ livenessProbe, readinessProbe, startupProbe, lifecycle }: Container) =>
    [livenessProbe, readinessProbe, startupProbe, lifecycle?.postStart, lifecycle?.preStop].flatMap((handler) =>
      [handler?.httpGet?.host, handler?.tcpSocket?.host].filter((host) => host !== undefined && host !== ""),
    ) as string[];
  const names = badContainers(pod, (container) => used(container).length > 0).sort();
  if (names.length === 0) return undefined;
  const hosts = [...new Set(pod.containers.flatMap(used))].sort();
  const what = plural(hosts.length, "probe or lifecycle host", "probe or lifecycle hosts");
  return finding(
    "probe or lifecycle host",
    `${containersNamed(names)} ${plural(names.length, "uses", "use")} ${what} ${quoted(hosts)}`,
  );
}

export function procMount(pod: PodView): Finding | undefined {
  const isBad = (container: Container) => (container.securityContext?.procMount ?? "Default") !== "Default";
  const names = badContainers(pod, isBad);
  if (names.length === 0) return undefined;
  const values = [...new Set(pod.containers.filter(isBad).map((each) => each.securityContext?.procMount ?? ""))].sort();
  return finding("procMount", `${containersNamed(names)} must not set securityContext.procMount to ${quoted(values)}`);
}

function appArmor(pod: PodView): Finding | undefined {
  const isBad = (type: string | undefined) => type !== undefined && type !== "RuntimeDefault" && type !== "Localhost";
  const podType = pod.spec.securityContext?.appArmorProfile?.type;
  const names = badContainers(pod, (container) => isBad(container.securityContext?.appArmorProfile?.type));
  const types = [podType, ...pod.containers.map((container) => container.securityContext?.appArmorProfile?.type)];
  const values = [...new Set(types.filter(isBad) as string[])].sort();
  const annotations = Object.entries(pod.metadata.annotations ?? {})
    .filter(([key, value]) => key.startsWith(appArmorPrefix) && !/^(|runtime\/default|localhost\/.*)$/.test(value))
    .map(([key, value]) => `annotation[${key}]=${JSON.stringify(value)}`)
    .sort();
  const parts = [
    ...(values.length > 0
      ? [`${setters(isBad(podType), names)} must not set AppArmor profile type to ${quoted(values)}`]
      : []),
    ...annotations,
  ];
  if (parts.length === 0) return undefined;
  return finding(
    plural(values.length + annotations.length, "forbidden AppArmor profile", "forbidden AppArmor profiles"),
    parts.join(", "),
  );
}

interface SelinuxOptions {
  type?: string | undefined;
  user?: string | undefined;
  role?: string | undefined;
}

function seLinux(pod: PodView): Finding | undefined {
  const isBad = (options: SelinuxOptions | undefined) =>
    options !== undefined &&
    (!safeSelinuxTypes.has(options.type ?? "") || Boolean(options.user) || Boolean(options.role));
  const own = pod.spec.securityContext?.seLinuxOptions;
  const names = badContainers(pod, (container) => isBad(container.securityContext?.seLinuxOptions));
  if (!isBad(own) && names.length === 0) return undefined;
  const all = [own, ...pod.containers.map((container) => container.securityContext?.seLinuxOptions)].filter(
    isBad,
  ) as SelinuxOptions[];
  const types = [...new Set(all.map(({ type }) => type ?? "").filter((type) => !safeSelinuxTypes.has(type)))].sort();
  const parts = [
    ...(types.length > 0 ? [`${plural(types.length, "type", "types")} ${quoted(types)}`] : []),
    ...(all.some(({ user }) => user) ? ["user may not be set"] : []),
    ...(all.some(({ role }) => role) ? ["role may not be set"] : []),
  ];
  return finding(
    "seLinuxOptions",
    `${setters(isBad(own), names)} set forbidden securityContext.seLinuxOptions: ${parts.join("; ")}`,
  );
}

const isUnconfined = (type: string | undefined) =>
  type !== undefined && type !== "RuntimeDefault" && type !== "Localhost";

function seccomp(pod: PodView): Finding | undefined {
  const own = pod.spec.securityContext?.seccompProfile?.type;
  const names = badContainers(pod, (container) => isUnconfined(container.securityContext?.seccompProfile?.type));
  if (!isUnconfined(own) && names.length === 0) return undefined;
  const types = [own, ...pod.containers.map((container) => container.securityContext?.seccompProfile?.type)];
  const values = [...new Set(types.filter(isUnconfined) as string[])].sort();
  return finding(
    "seccompProfile",
    `${setters(isUnconfined(own), names)} must not set securityContext.seccompProfile.type to ${quoted(values)}`,
  );
}

function hostProcess(pod: PodView): Finding | undefined {
  const own = pod.spec.securityContext?.windowsOptions?.hostProcess === true;
  const names = badContainers(pod, (container) => container.securityContext?.windowsOptions?.hostProcess === true);
  if (!own && names.length === 0) return undefined;
  return finding("hostProcess", `${setters(own, names)} must not set securityContext.windowsOptions.hostProcess=true`);
}
