// PodAction is everything a pod worker can do, as data. The plan names actions; executors carry them out; a missing executor does not compile.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { ContainerRole } from "../model/agent-pod.ts";

/** Why a container is killed; decides grace and whether preStop runs. */
export type KillReason = "unknown" | "startup-probe" | "liveness-probe" | "resize" | "definition" | "pod";

export type PodAction =
  /** Stops every container (sidecars last, in reverse order) and then every sandbox. */
  | { readonly do: "kill-pod"; readonly reason: string; readonly graceSeconds?: number }
  | {
      readonly do: "kill-container";
      readonly id: string;
      readonly name: string;
      readonly reason: KillReason;
      readonly message: string;
    }
  | { readonly do: "remove-container"; readonly id: string; readonly name: string }
  | { readonly do: "create-sandbox"; readonly attempt: number }
  | {
      readonly do: "start-container";
      readonly name: string;
      readonly role: ContainerRole;
      readonly restartCount: number;
      /** When the generation before it ended; the back-off counts from there. */
      readonly previousFinishedAt?: number;
    }
  /** A start that waits for its crash-loop back-off; the worker looks again at `untilMs`. */
  | {
      readonly do: "hold-back";
      readonly name: string;
      readonly delayMs: number;
      readonly untilMs: number;
    }
  | { readonly do: "resize-container"; readonly id: string; readonly name: string }
  | { readonly do: "remove-sandbox"; readonly id: string }
  /** Gives back what outlives the containers: volumes, hooks, cgroup, directories. */
  | { readonly do: "release" };

export type Executors = {
  readonly [A in PodAction as A["do"]]: (action: A, call: Call) => Promise<void>;
};
