// tcpSocket: it is well when a connection can be made.

import { connect } from "node:net";
import { within } from "../kit/base/call.ts";
import { dialError } from "../kit/os/http-ask.ts";
import { portOf } from "../kit/kube/objects/http-action.ts";
import type { Plugin } from "../kit/base/plugin.ts";
import { failed, type ProbePlugin, type ProbeReport, probeKind, succeeded } from "../kit/contracts/probe.ts";

const probe: ProbePlugin = {
  name: "tcpSocket",
  supports: ({ tcpSocket: action }) => action !== undefined,
  async ask({ probe: { tcpSocket: action }, target, timeoutMs }, call) {
    const host = action?.host || target.podIp;
    const port = portOf(action?.port ?? 0, target.container);
    const { signal } = within(timeoutMs, call);
    return new Promise((resolve) => {
      const socket = connect({ host, port });
      const finish = (report: ProbeReport) => {
        signal.removeEventListener("abort", onAbort);
        socket.destroy();
        resolve(report);
      };
      const onAbort = () => finish(failed(`dial tcp ${host}:${port}: i/o timeout`));
      signal.addEventListener("abort", onAbort, { once: true });
      socket.once("connect", () => finish(succeeded("")));
      socket.once("error", (error) => finish(failed(dialError(`${host}:${port}`, error))));
    });
  },
};

export const tcpSocket: Plugin<ProbePlugin> = { kind: probeKind, name: "tcp-socket", open: () => probe };
