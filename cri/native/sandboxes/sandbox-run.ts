// RunPodSandbox: namespaces, files and network of a pod, without a process. What failed half-way is taken down again.

import {
  ContainerEventType,
  NamespaceMode,
  type PodSandboxConfig,
  type RunPodSandboxRequest,
} from "../../api/gen/runtime.js";
import { checkBandwidth } from "../../api/network-attachment.ts";
import { checkUserNamespace } from "../../api/request-check.ts";
import { type Call, uninterrupted } from "../../../plugins/kit/base/call.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import { type Native, newId, nowNs } from "../native.ts";
import { makeSandboxFiles } from "./sandbox-files.ts";
import { hostnameOf, makeSandboxNamespaces } from "./sandbox-namespaces.ts";
import { attachment } from "./sandbox-network.ts";
import { namespaceModes, type SandboxRecord } from "./sandbox-record.ts";
import { dismantleSandbox } from "./sandbox-stop.ts";

export async function runSandbox(native: Native, request: RunPodSandboxRequest, call: Call): Promise<string> {
  const { config } = request;
  if (!config?.metadata) throw new Fault("invalid", "Cannot run sandbox: its config has no metadata");
  if (request.runtimeHandler !== "" && request.runtimeHandler !== "native") {
    throw new Fault("not-found", `Cannot run sandbox: there is no runtime handler "${request.runtimeHandler}"`);
  }
  checkBandwidth(config.annotations);
  checkUserNamespace(config.linux?.securityContext?.namespaceOptions?.usernsOptions);
  const record: SandboxRecord = {
    id: newId(),
    config,
    runtimeHandler: request.runtimeHandler,
    createdAt: nowNs(native.clock),
    phase: "making",
    ips: [],
    isAttached: false,
  };
  refuseTwin(native, config);
  // Known before anything is made, so that a crash from here on leaves nothing unaccounted for.
  native.sandboxes.save(record);
  try {
    await native.making.run(() => make(native, record, call));
  } catch (error) {
    await takeBack(native, record);
    throw error;
  }
  for (const type of [ContainerEventType.CONTAINER_CREATED_EVENT, ContainerEventType.CONTAINER_STARTED_EVENT]) {
    native.events.emit({ id: record.id, sandboxId: record.id, type });
  }
  return record.id;
}

/** What cannot be taken down now is shown as a stopped sandbox: whoever removes it tries again. Unseen, it would bar the pod's way for ever. */
async function takeBack(native: Native, record: SandboxRecord): Promise<void> {
  try {
    await dismantleSandbox(native, record, uninterrupted);
    await native.sandboxes.forget(record.id);
  } catch (error) {
    record.phase = "stopped";
    native.sandboxes.save(record);
    native.log.warn({ err: error, sandbox: record.id }, "a sandbox that could not be made could not be taken down yet");
  }
}

function refuseTwin(native: Native, config: PodSandboxConfig): void {
  const wanted = config.metadata;
  const twin = native.sandboxes.list().find(({ config: { metadata } }) => {
    const isSamePod =
      metadata?.uid === wanted?.uid && metadata?.namespace === wanted?.namespace && metadata?.name === wanted?.name;
    return isSamePod && metadata?.attempt === wanted?.attempt;
  });
  if (!twin) return;
  const name = `${wanted?.namespace}/${wanted?.name}`;
  throw new Fault(
    "already-exists",
    `Cannot run sandbox for pod "${name}": attempt ${wanted?.attempt} is sandbox "${twin.id}"`,
  );
}

async function make(native: Native, record: SandboxRecord, call: Call): Promise<void> {
  const { config, id } = record;
  const modes = namespaceModes(config);
  const folder = native.paths.namespaces(id);
  makeSandboxFiles(native.paths.sandbox(id), config, hostnameOf(config));
  const holder = await makeSandboxNamespaces(native.paths.root, folder, config);
  if (holder) {
    record.holder = holder;
    leaveOwnGroups(native, holder.pid);
    native.sandboxes.save(record);
  }
  if (modes.network !== NamespaceMode.NODE) {
    record.isAttached = true;
    native.sandboxes.save(record);
    const result = await native.network.add(attachment(native, record), call);
    record.ips = (result.ips ?? []).map(({ address }) => address.split("/")[0] as string);
  }
  record.phase = "ready";
  native.sandboxes.save(record);
}

/** Processes that outlive us must not be in our own group: whoever stops our service would end them. */
export function leaveOwnGroups(native: Native, pid: number): void {
  if (native.ownGroups.length > 0) native.cgroups.enter(native.paths.conmonCgroup, pid, native.ownGroups);
}
