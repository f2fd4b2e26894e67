// How long a runtime may take for each call, as kubelet bounds them: one that hangs must not hold a pod's worker for ever. Giving up is
// what lets it be asked again, and a runtime that missed the end of a process finds it then.

import type { Runtime } from "../../cri/api/contract.ts";
import { branch, type Call } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import { wrapRuntime } from "./wrap-runtime.ts";

/** What `runtimeRequestTimeout` says in the kubelet's configuration. */
export const runtimeRequestSeconds = 120;

type Patience = (request: { readonly timeout?: bigint }) => number | undefined;

/** A grace period, or the time that a command gets, comes on top. */
const withItsOwn: Patience = ({ timeout = 0n }) => runtimeRequestSeconds + Number(timeout);

/** Seconds for those that are not like the others; undefined where the work itself decides. */
const exceptions: Readonly<Record<string, Patience>> = {
  // Networks are slow.
  runPodSandbox: () => 2 * runtimeRequestSeconds,
  stopContainer: withItsOwn,
  execSync: (request) => (request.timeout ? withItsOwn(request) : undefined),
  checkpointContainer: (request) => ((request.timeout ?? 0n) < 0n ? undefined : withItsOwn(request)),
  pullImage: () => undefined,
  imageFsInfo: () => undefined,
};

export function patientRuntime(runtime: Runtime, clock: Clock): Runtime {
  return wrapRuntime(runtime, (method, rpc) => {
    // It lasts as long as the agent.
    if (method === "getContainerEvents") return rpc;
    const patience = exceptions[method] ?? (() => runtimeRequestSeconds);
    return (request, call) => {
      const seconds = patience(request as Parameters<Patience>[0]);
      return seconds === undefined
        ? rpc(request, call)
        : inTime({ method, seconds, clock }, call, (own) => rpc(request, own));
    };
  });
}

interface Limit {
  readonly method: string;
  readonly seconds: number;
  readonly clock: Clock;
}

/** Does not wait for a runtime that does not heed its call's end either. */
async function inTime(
  { method, seconds, clock }: Limit,
  parent: Call,
  work: (call: Call) => unknown,
): Promise<unknown> {
  const { call, end, stop } = branch(parent);
  const { promise: late, reject } = Promise.withResolvers<never>();
  const cancel = clock.after(seconds * 1000, () => {
    const fault = new Fault("timeout", `The container runtime did not answer ${method} within ${seconds} s`);
    reject(fault);
    stop(fault);
  });
  try {
    return await Promise.race([work(call), late]);
  } finally {
    cancel();
    end();
  }
}
