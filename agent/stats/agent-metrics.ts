// `/metrics`: the agent's own numbers and the board's, with upstream's names where upstream has them.

import { processNumbers } from "../../plugins/kit/os/platform/process-numbers.ts";
import { kubeletVersion } from "../node/node-status.ts";
import { isStaticPod } from "../model/agent-pod.ts";
import type { AgentView } from "../server/contract.ts";
import type { VolumeOnDisk } from "../volumes/pod-directories.ts";
import type { NodeDisk } from "./disk-view.ts";
import { Exposition } from "./exposition.ts";
import type { Snapshot } from "./usage.ts";

const states = ["created", "exited", "running", "unknown"] as const;

/** The certificate that the node shows others; and renewals that failed, of it and of the serving one. */
export interface CertificateRenewals {
  /** Wall time in milliseconds. */
  readonly clientEndsAt: number;
  readonly clientErrors: number;
  readonly servingErrors: number;
}

export interface AgentNumbers {
  /** Wall time in milliseconds. */
  readonly now: number;
  readonly volumesOf: (podUid: string) => readonly VolumeOnDisk[];
  readonly certificateEndsAt: (() => number | undefined) | undefined;
  readonly renewals: (() => CertificateRenewals | undefined) | undefined;
  readonly cgroupVersion: 1 | 2;
}

export function agentMetrics(view: AgentView, { node, pods }: Snapshot, disk: NodeDisk, own: AgentNumbers): string {
  const out = new Exposition();
  const gauge = (name: string, help: string, value: number, labels: Readonly<Record<string, string>> = {}) =>
    out.add(name, "gauge", help, labels, value);
  const observed = view.observed();
  const containers = observed.flatMap((pod) => pod.containers);
  gauge("kubelet_node_name", "[ALPHA] The node's name. The count is always 1.", 1, { node: view.nodeName });
  gauge(
    "kubelet_running_pods",
    "[ALPHA] Number of pods that have a running pod sandbox",
    observed.filter(({ sandboxes }) => sandboxes.some(({ isReady }) => isReady)).length,
  );
  for (const state of states) {
    const count = containers.filter((container) => container.state === state).length;
    gauge("kubelet_running_containers", "[ALPHA] Number of containers currently running", count, {
      container_state: state,
    });
  }
  podCounts(out, view);
  volumeCounts(out, view, own);
  for (const usage of pods) {
    volumes(out, usage, disk);
    logBytes(out, usage, disk);
  }
  certificates(out, own);
  gauge("kubelet_cgroup_version", "[ALPHA] cgroup version on the hosts.", own.cgroupVersion);
  const ephemeral = view.pods().reduce((sum, { spec }) => sum + (spec.ephemeralContainers?.length ?? 0), 0);
  const ephemeralHelp = "[ALPHA] Current number of ephemeral containers in pods managed by this kubelet.";
  gauge("kubelet_managed_ephemeral_containers", ephemeralHelp, ephemeral);
  const [, major = "", minor = ""] = /^v(\d+)\.(\d+)/.exec(kubeletVersion) ?? [];
  const build = {
    build_date: "",
    compiler: "",
    git_commit: "",
    git_tree_state: "clean",
    git_version: kubeletVersion,
    go_version: "",
    major,
    minor,
    platform: `linux/${process.arch === "x64" ? "amd64" : process.arch}`,
  };
  gauge("kubernetes_build_info", "[ALPHA] A metric with a constant '1' value labeled by the version.", 1, build);
  for (const { name, type, help, value } of processNumbers()) out.add(name, type, help, "", value);
  const { board } = node;
  for (const { zone, celsius } of board.temperatures)
    gauge("skiff_board_temperature_celsius", "Temperature of a zone of the board.", celsius, { zone });
  if (board.throttled !== undefined) throttling(out, board.throttled);
  for (const { device, tenths } of board.wear)
    gauge(
      "skiff_board_card_wear_ratio",
      "Part of the card's life that is used up, as the device estimates it.",
      tenths / 10,
      { device },
    );
  node.load.forEach((value, index) =>
    gauge("skiff_node_load", "Average load of the node.", value, { minutes: ["1", "5", "15"][index] ?? "" }),
  );
  return out.toString();
}

/** What alerts about certificates ask for. */
function certificates(out: Exposition, { now, certificateEndsAt, renewals }: AgentNumbers): void {
  const secondsTo = (endsAt: number) => Math.floor((endsAt - now) / 1000);
  const gauge = (name: string, help: string, value: number) => out.add(name, "gauge", `[ALPHA] ${help}`, "", value);
  const counter = (name: string, help: string, value: number) => out.add(name, "counter", `[ALPHA] ${help}`, "", value);
  const endsAt = certificateEndsAt?.();
  const ofServer = "Gauge of the shortest TTL (time-to-live) of the Kubelet's serving certificate.";
  if (endsAt !== undefined) gauge("kubelet_certificate_manager_server_ttl_seconds", ofServer, secondsTo(endsAt));
  const told = renewals?.();
  if (!told) return;
  const ofClient = "Gauge of the TTL (time-to-live) of the Kubelet's client certificate, negative once it has ended.";
  gauge("kubelet_certificate_manager_client_ttl_seconds", ofClient, secondsTo(told.clientEndsAt));
  const clientErrors = "Counter of certificate renewal errors.";
  counter("kubelet_certificate_manager_client_expiration_renew_errors", clientErrors, told.clientErrors);
  const serverErrors = "Counter of serving certificate renewal errors.";
  counter("kubelet_server_expiration_renew_errors", serverErrors, told.servingErrors);
}

/** By whether they came from a manifest. */
function podCounts(out: Exposition, view: AgentView): void {
  const wanted = view.pods();
  const active = wanted.filter(({ status }) => status?.phase !== "Succeeded" && status?.phase !== "Failed");
  for (const isStatic of [true, false]) {
    const count = (all: typeof wanted) => all.filter((pod) => isStaticPod(pod) === isStatic).length;
    const labels = { static: isStatic ? "true" : "" };
    const add = (name: string, help: string, value: number) => out.add(name, "gauge", `[ALPHA] ${help}`, labels, value);
    add("kubelet_desired_pods", "The number of pods the kubelet is being instructed to run.", count(wanted));
    add("kubelet_active_pods", "The number of pods the kubelet considers active.", count(active));
  }
  const mirrors = wanted.filter(isStaticPod).length;
  const help = "[ALPHA] The number of mirror pods the kubelet will try to create (one per admitted static pod)";
  out.add("kubelet_mirror_pods", "gauge", help, "", mirrors);
}

/** What pods ask for, and what is mounted for them, by plugin. */
function volumeCounts(out: Exposition, view: AgentView, { volumesOf }: AgentNumbers): void {
  const counts = new Map<string, number>();
  const add = (state: string, plugin: string) => {
    const labels = `plugin_name="${plugin}",state="${state}"`;
    counts.set(labels, (counts.get(labels) ?? 0) + 1);
  };
  for (const { metadata, spec } of view.pods()) {
    for (const { pluginName } of volumesOf(metadata.uid)) add("actual_state_of_world", pluginName);
    for (const { name: _, ...source } of spec.volumes ?? []) {
      const [kind = "unknown"] = Object.keys(source);
      const words = kind === "configMap" ? "configmap" : kind.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
      add("desired_state_of_world", `kubernetes.io/${words}`);
    }
  }
  const help = "[ALPHA] Number of volumes in Volume Manager";
  for (const [labels, count] of counts) out.add("volume_manager_total_volumes", "gauge", help, labels, count);
}

function logBytes(out: Exposition, { pod, containers }: Snapshot["pods"][number], disk: NodeDisk): void {
  const { uid, namespace, name } = pod.metadata;
  for (const { container } of containers) {
    const logs = disk.pods.get(uid)?.logs.get(container.id);
    if (!logs) continue;
    const help = "[ALPHA] Bytes used by the container's logs on the filesystem.";
    const labels = { uid, namespace, pod: name, container: container.name };
    out.add("kubelet_container_log_filesystem_used_bytes", "gauge", help, labels, logs.bytes);
  }
}

const flags = ["under_voltage", "frequency_capped", "throttled", "soft_temperature_limit"];

function throttling(out: Exposition, bits: number): void {
  for (const [index, flag] of flags.entries()) {
    out.add(
      "skiff_board_throttled",
      "gauge",
      "1 while the firmware holds the board back for this reason.",
      { reason: flag },
      (bits >> index) & 1,
    );
    out.add(
      "skiff_board_throttled_since_boot",
      "gauge",
      "1 when the firmware has held the board back for this reason since it was started.",
      { reason: flag },
      (bits >> (index + 16)) & 1,
    );
  }
}

function volumes(out: Exposition, { pod }: Snapshot["pods"][number], disk: NodeDisk): void {
  for (const volume of disk.pods.get(pod.metadata.uid)?.volumes ?? []) {
    const claim = pod.spec.volumes?.find(({ name }) => name === volume.name)?.persistentVolumeClaim?.claimName;
    if (!claim || !volume.fileSystem) continue;
    const labels = { namespace: pod.metadata.namespace, persistentvolumeclaim: claim };
    const add = (name: string, help: string, value: number) =>
      out.add(`kubelet_volume_stats_${name}`, "gauge", `[ALPHA] ${help}`, labels, value);
    add("capacity_bytes", "Capacity in bytes of the volume", volume.fileSystem.capacityBytes);
    add("available_bytes", "Number of available bytes in the volume", volume.fileSystem.availableBytes);
    add("used_bytes", "Number of used bytes in the volume", volume.bytes);
    add("inodes", "Maximum number of inodes in the volume", volume.fileSystem.inodes);
    add("inodes_free", "Number of free inodes in the volume", volume.fileSystem.inodesFree);
    add("inodes_used", "Number of used inodes in the volume", volume.inodes);
  }
}
