// grpc: the standard health service, asked for the service that the probe names.

import { within } from "../kit/base/call.ts";
import type { Plugin } from "../kit/base/plugin.ts";
import { failed, type ProbePlugin, probeKind, succeeded } from "../kit/contracts/probe.ts";

const probe: ProbePlugin = {
  name: "grpc",
  supports: ({ grpc: action }) => action !== undefined,
  async ask({ probe: { grpc: action }, target, timeoutMs }, call) {
    // Loaded when first needed: most nodes have no such probe.
    const { grpcCheck } = await import("./grpc-check.ts");
    const host = target.podIp.includes(":") ? `[${target.podIp}]` : target.podIp;
    const address = `${host}:${action?.port}`;
    const wrong = await grpcCheck(address, action?.service ?? "", timeoutMs, within(timeoutMs, call));
    return wrong === undefined ? succeeded("service healthy") : failed(wrong);
  },
};

export const grpc: Plugin<ProbePlugin> = { kind: probeKind, name: "grpc", open: () => probe };
