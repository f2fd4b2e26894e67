import t from "tap";
import type { Runtime } from "../../cri/api/contract.ts";
import { type Call, uninterrupted } from "../../plugins/kit/base/call.ts";
import { FakeClock } from "../../plugins/kit/base/clock.ts";
import { patientRuntime } from "./with-timeouts.ts";

/** A runtime that answers nothing, and remembers which calls were stopped. */
function silentRuntime() {
  const stopped: string[] = [];
  const silent = new Proxy(
    {},
    {
      get: (_target, method: string) => (_request: unknown, call: Call) => {
        call.signal.addEventListener("abort", () => stopped.push(method));
        return new Promise(() => {});
      },
    },
  );
  return { runtime: { runtime: silent, image: silent } as unknown as Runtime, stopped };
}

type Method = (request: object, call: Call) => Promise<unknown>;

const rows: { name: string; service?: "image"; request?: object; seconds: number | undefined }[] = [
  { name: "version", seconds: 120 },
  { name: "stopPodSandbox", seconds: 120 },
  { name: "listImages", service: "image", seconds: 120 },
  { name: "runPodSandbox", seconds: 240 },
  { name: "stopContainer", request: { timeout: 30n }, seconds: 150 },
  { name: "execSync", request: { timeout: 5n }, seconds: 125 },
  { name: "execSync", request: { timeout: 0n }, seconds: undefined },
  { name: "checkpointContainer", request: { timeout: 60n }, seconds: 180 },
  { name: "checkpointContainer", request: { timeout: -1n }, seconds: undefined },
  { name: "pullImage", service: "image", seconds: undefined },
  { name: "imageFsInfo", service: "image", seconds: undefined },
];

for (const { name, service = "runtime", request = {}, seconds } of rows) {
  t.test(`patientRuntime() waits ${seconds ?? "for ever, not"} seconds for ${name}`, async (t) => {
    const clock = new FakeClock();
    const { runtime, stopped } = silentRuntime();
    const method = (patientRuntime(runtime, clock)[service] as unknown as Record<string, Method>)[name] as Method;
    let failure: unknown;
    method(request, uninterrupted).catch((error: unknown) => (failure = error));
    await clock.advance((seconds ?? 100_000) * 1000 - 1);
    t.equal(failure, undefined);
    await clock.advance(1);
    if (seconds === undefined) return t.same(stopped, []);
    const message = `The container runtime did not answer ${name} within ${seconds} s`;
    t.match(failure, { code: "timeout", message });
    t.same(stopped, [name], "it was told to stop");
    t.equal(clock.pending, 0);
  });
}

t.test("patientRuntime() passes answers, failures and the caller's own stop on", async (t) => {
  const clock = new FakeClock();
  const stop = new AbortController();
  const service = {
    version: async () => ({ runtimeName: "quick" }),
    status: async () => {
      throw new Error("it is broken");
    },
    listContainers: (_request: object, { signal }: Call) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error))),
  };
  const { runtime } = patientRuntime({ runtime: service, image: {} } as unknown as Runtime, clock);
  t.match(await runtime.version({ version: "" }, uninterrupted), { runtimeName: "quick" });
  await t.rejects(runtime.status({ verbose: false }, uninterrupted), { message: "it is broken" });
  const listing = runtime.listContainers({}, stop);
  stop.abort(new Error("the agent is closing"));
  await t.rejects(listing, { message: "the agent is closing" });
  t.equal(clock.pending, 0, "nothing waits any more");
});
