// A container as the runtime takes it, once environment, mounts and image are known. Pure.

import { ContainerConfig, type Device, type Mount, Signal } from "../../cri/api/gen/runtime.js";
import type { Container } from "../../plugins/kit/kube/objects/types.ts";
import type { AgentPod } from "../model/agent-pod.ts";
import type { IdRange } from "../model/id-range.ts";
import { expand } from "../../plugins/kit/kube/objects/expansion.ts";
import { annotations, containerAnnotations, containerLabels, containerLogPath } from "../model/identity.ts";
import { comparableResources, containerResources, type ResourceFacts } from "./resources.ts";
import { containerSecurity, type SecurityFacts, userNamespaceOf } from "./security.ts";

export interface ContainerFacts extends SecurityFacts, ResourceFacts {
  readonly restartCount: number;
  /** What the image resolved to on this node. */
  readonly imageRef: string;
  readonly environment: ReadonlyMap<string, string>;
  readonly mounts: readonly Mount[];
  readonly devices: readonly Device[];
  /** Names of devices that the runtime injects by their container device interface description. */
  readonly cdiDevices: readonly string[];
  /** Added by device plugins. */
  readonly annotations: Readonly<Record<string, string>>;
  /** CPUs that belong to this container alone; empty shares all. */
  readonly cpuset: string;
  readonly runtimeHandler: string;
}

export function containerConfig(pod: AgentPod, container: Container, facts: ContainerFacts): ContainerConfig {
  const lookup = (name: string) => facts.environment.get(name);
  const resources = containerResources(pod, container, facts);
  return ContainerConfig.create({
    metadata: { name: container.name, attempt: facts.restartCount },
    image: {
      image: facts.imageRef,
      userSpecifiedImage: container.image ?? "",
      runtimeHandler: facts.runtimeHandler,
    },
    command: (container.command ?? []).map((word) => expand(word, lookup)),
    args: (container.args ?? []).map((word) => expand(word, lookup)),
    workingDir: container.workingDir ?? "",
    envs: [...facts.environment].map(([key, value]) => ({ key, value })),
    mounts: facts.mounts.map((mount) => ({ ...mount, ...mappingsOf(facts.ownUsers) })),
    devices: [...facts.devices],
    CDIDevices: facts.cdiDevices.map((name) => ({ name })),
    labels: containerLabels(pod, container),
    annotations: {
      ...containerAnnotations(pod, container, facts.restartCount),
      [annotations.resources]: JSON.stringify(comparableResources(pod, container, facts)),
      ...facts.annotations,
    },
    logPath: containerLogPath(container.name, facts.restartCount),
    stdin: container.stdin ?? false,
    stdinOnce: container.stdinOnce ?? false,
    tty: container.tty ?? false,
    stopSignal: stopSignalOf(container),
    linux: {
      resources: { ...resources, cpusetCpus: facts.cpuset },
      securityContext: containerSecurity(pod, container, facts),
    },
  });
}

function stopSignalOf(container: Container): Signal {
  const name = container.lifecycle?.stopSignal?.replace("+", "PLUS").replace(/(SIGRTMAX)-/, "$1MINUS");
  return name && name in Signal ? Signal[name as keyof typeof Signal] : Signal.RUNTIME_DEFAULT;
}

/** With these the runtime shows the owners of files as the pod's own users. */
function mappingsOf(ownUsers: IdRange | undefined): Pick<Mount, "uidMappings" | "gidMappings"> | undefined {
  if (!ownUsers?.isMapped) return undefined;
  const { uids, gids } = userNamespaceOf(ownUsers);
  return { uidMappings: uids, gidMappings: gids };
}
