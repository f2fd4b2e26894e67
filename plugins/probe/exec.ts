// exec: a command inside the container; it is well when the command ends with code 0.

import { within } from "../kit/base/call.ts";
import { type ContainerExec, containerExecKind } from "../kit/contracts/container-exec.ts";
import { Fault, isFault } from "../kit/base/fault.ts";
import { expand } from "../kit/kube/objects/expansion.ts";
import type { Plugin } from "../kit/base/plugin.ts";
import { failed, longestOutput, type ProbePlugin, probeKind, succeeded } from "../kit/contracts/probe.ts";

// The runtime ends a command itself when its time is over: that call must not be cut off before.
const slackMs = 5_000;

const probeBy = (containers: ContainerExec): ProbePlugin => ({
  name: "exec",
  supports: (probe) => probe.exec !== undefined,
  async ask({ probe, target, timeoutMs }, call) {
    const environment = new Map((target.container.env ?? []).map(({ name, value }) => [name, value ?? ""]));
    const command = (probe.exec?.command ?? []).map((word) => expand(word, (name) => environment.get(name)));
    const seconds = Math.ceil(timeoutMs / 1000);
    try {
      const patient = within(timeoutMs + slackMs, call);
      const { exitCode, stdout, stderr } = await containers.exec(target.containerId, command, seconds, patient);
      const output = Buffer.concat([stdout, stderr]).subarray(0, longestOutput).toString("utf8");
      return exitCode === 0 ? succeeded(output) : failed(output);
    } catch (error) {
      if (isFault(error, "timeout"))
        return failed(`command timed out: "${command.join(" ")}" timed out after ${seconds}s`);
      throw error;
    }
  },
});

export const exec: Plugin<ProbePlugin> = {
  kind: probeKind,
  name: "exec",
  needs: [containerExecKind],
  open(host) {
    const [containers] = host.all(containerExecKind);
    if (!containers) throw new Fault("internal", "the exec probe needs somebody who runs commands in containers");
    return probeBy(containers);
  },
};
