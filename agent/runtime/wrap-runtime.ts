// A runtime whose services do something more with every call. Sessions and whatever else it offers are passed through.

import type { Runtime } from "../../cri/api/contract.ts";
import type { Call } from "../../plugins/kit/base/call.ts";

/** One method of a service: a promise for most, a stream of events for one. */
export type Rpc = (request: unknown, call: Call) => unknown;

/** `wrap` is asked once for each method, by its name in the contract. */
export function wrapRuntime(runtime: Runtime, wrap: (method: string, rpc: Rpc) => Rpc): Runtime {
  const services = { runtime: wrapService(runtime.runtime, wrap), image: wrapService(runtime.image, wrap) };
  // A runtime may be an object of a class, whose methods want it as their own.
  return new Proxy(runtime, {
    get(target, key) {
      if (key === "runtime" || key === "image") return services[key];
      const found = Reflect.get(target, key) as unknown;
      return typeof found === "function" ? (found.bind(target) as unknown) : found;
    },
  });
}

function wrapService<T extends object>(service: T, wrap: (method: string, rpc: Rpc) => Rpc): T {
  const wrapped = new Map<string | symbol, Rpc>();
  return new Proxy(service, {
    get(target, key) {
      const known = wrapped.get(key);
      if (known) return known;
      const found = Reflect.get(target, key) as unknown;
      if (typeof found !== "function" || typeof key !== "string") return found;
      const rpc = wrap(key, (request, call) => (found as Rpc).call(target, request, call));
      wrapped.set(key, rpc);
      return rpc;
    },
  });
}
