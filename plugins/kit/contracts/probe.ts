// The ProbePlugin contract: one way to ask a container how it is. When to ask and what to make of the answers is the agent's.

import type { Call } from "../base/call.ts";
import type { Container, Probe } from "../kube/objects/types.ts";
import { type Kind, kind } from "../base/plugin.ts";

export interface ProbeTarget {
  readonly container: Container;
  readonly containerId: string;
  readonly podIp: string;
}

/** `errored` means that the question could not be asked: it counts neither way. */
export interface ProbeReport {
  readonly outcome: "success" | "failure" | "errored";
  /** At most `longestOutput` bytes. */
  readonly output: string;
  /** Told as an event of its own. */
  readonly warning?: string;
}

export interface ProbeRequest {
  readonly probe: Probe;
  readonly target: ProbeTarget;
  /** No answer within it is a failure, in words of the plugin's own. */
  readonly timeoutMs: number;
}

export interface ProbePlugin {
  readonly name: string;
  supports(probe: Probe): boolean;
  /** What it throws is told as `errored`. It must end soon after `timeoutMs`, and at once when the call is stopped. */
  ask(request: ProbeRequest, call: Call): Promise<ProbeReport>;
}

export const probeKind: Kind<ProbePlugin> = kind("probe");

export const longestOutput = 10 * 1024;

export const succeeded = (output: string): ProbeReport => ({ outcome: "success", output });
export const failed = (output: string): ProbeReport => ({ outcome: "failure", output });
