// Running a short command inside a container, for plugins: the agent does it through its runtime.

import type { Call } from "../base/call.ts";
import { type Kind, kind } from "../base/plugin.ts";

export interface ExecAnswer {
  readonly exitCode: number;
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
}

export interface ContainerExec {
  /** Fault `timeout` when the command was ended because its time was over. */
  exec(containerId: string, command: readonly string[], timeoutSeconds: number, call: Call): Promise<ExecAnswer>;
}

export const containerExecKind: Kind<ContainerExec> = kind("container-exec");
