// The edge of the runtime: whatever goes wrong inside leaves it as a Fault, and a call that was stopped is a `timeout`.

import type { Call } from "../../plugins/kit/base/call.ts";
import { Fault, toFault } from "../../plugins/kit/base/fault.ts";

type AnyRpc = (...args: never[]) => unknown;

/** The service with each async method wrapped; the call is always the last argument. Streams of events pass as they are. */
export function withFaults<T extends object>(service: T): T {
  const wrapped = Object.entries(service as Record<string, AnyRpc>).map(([name, rpc]) => {
    const guarded = (...args: unknown[]) => {
      const call = args.at(-1) as Call | undefined;
      if (call?.signal?.aborted) return Promise.reject(stopped(name));
      const result = (rpc as (...rest: unknown[]) => unknown)(...args);
      if (!(result instanceof Promise)) return result;
      return result.catch((error: unknown) => {
        if (!(error instanceof Fault) && call?.signal?.aborted) throw stopped(name);
        throw toFault(error, `Cannot ${words(name)}`);
      });
    };
    return [name, guarded];
  });
  return Object.fromEntries(wrapped) as T;
}

const stopped = (name: string) => new Fault("timeout", `Cannot ${words(name)}: the call was stopped`);
const words = (name: string) => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
