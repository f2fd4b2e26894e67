// How CRI shows a sandbox.

import { readFileSync } from "node:fs";
import {
  NamespaceMode,
  type PodSandbox,
  type PodSandboxConfig,
  PodSandboxState,
  type PodSandboxStatus,
} from "../../api/gen/runtime.js";
import type { Docker } from "../docker.ts";
import type { ContainerInspect, ContainerSummary } from "../engine/types.ts";
import { type SandboxRecord, sandboxRecord } from "../labels.ts";

export function namespaceModes(config: PodSandboxConfig | undefined) {
  const options = config?.linux?.securityContext?.namespaceOptions;
  return {
    network: options?.network ?? NamespaceMode.POD,
    pid: options?.pid ?? NamespaceMode.POD,
    ipc: options?.ipc ?? NamespaceMode.POD,
  };
}

const stateOf = (isRunning: boolean) => (isRunning ? PodSandboxState.SANDBOX_READY : PodSandboxState.SANDBOX_NOTREADY);

function toPodSandbox(record: SandboxRecord, isRunning: boolean): PodSandbox {
  const { id, config, createdAt, runtimeHandler } = record;
  const { labels, annotations, metadata } = config;
  return { id, metadata, state: stateOf(isRunning), createdAt, labels, annotations, runtimeHandler };
}

export function listedSandbox({ Id, Labels, State }: ContainerSummary): PodSandbox {
  return toPodSandbox(sandboxRecord(Id, Labels), State === "running");
}

export function sandboxStatus(docker: Docker, seen: ContainerInspect): PodSandboxStatus {
  const record = sandboxRecord(seen.Id, seen.Config.Labels);
  const [ip = "", ...more] = addressesOf(docker, seen);
  return {
    ...toPodSandbox(record, seen.State.Running),
    network: { ip, additionalIps: more.map((address) => ({ ip: address })) },
    linux: { namespaces: { options: record.config.linux?.securityContext?.namespaceOptions } },
  };
}

/** As the network gave them; after a restart, as they are found in the namespace. */
export function addressesOf(docker: Docker, { Id, State, Config }: ContainerInspect): readonly string[] {
  const { config } = sandboxRecord(Id, Config.Labels);
  if (!State.Running || namespaceModes(config).network === NamespaceMode.NODE) return [];
  let known = docker.addresses.get(Id);
  if (!known) {
    known = addressesIn(State.Pid);
    docker.addresses.set(Id, known);
  }
  return known;
}

/** The addresses of a process's network, loopback and link-local ones left out. */
function addressesIn(pid: number): string[] {
  const read = (name: string) => {
    try {
      return readFileSync(`/proc/${pid}/net/${name}`, "utf8");
    } catch {
      // The process has ended, or the host has no IPv6.
      return "";
    }
  };
  const v4 = [...read("fib_trie").matchAll(/\|-- (\d+\.\d+\.\d+\.\d+)\n\s+\/32 host LOCAL/g)]
    .map((match) => match[1] as string)
    .filter((address) => !address.startsWith("127."));
  const v6 = read("if_inet6")
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , , scope, , name]) => scope === "00" && name !== "lo")
    .map(([hex = ""]) => compressIpv6(hex));
  return [...new Set(v4), ...v6];
}

function compressIpv6(hex: string): string {
  const groups = (hex.match(/.{4}/g) ?? []).join(":");
  // The URL parser knows the canonical form.
  return new URL(`http://[${groups}]`).hostname.slice(1, -1);
}
