import t from "tap";
import { within } from "../../../plugins/kit/call.ts";
import { startNative, withoutNative } from "../../../test/harness/native.ts";
import { PodSandboxConfig, PodSandboxState, RunPodSandboxRequest } from "../../api/gen/runtime.js";

t.test("runPodSandbox() shows what it could neither make nor take down", { skip: withoutNative() }, async (t) => {
  let isBroken = true;
  const network = {
    add: async () => Promise.reject(new Error("no address is left")),
    del: async () => {
      if (isBroken) throw new Error("the bridge is busy");
    },
    status: async () => {},
  };
  const native = await startNative(t, { changes: { network } });
  const { runtime } = native.current();
  const call = within(60_000);
  const metadata = { name: "a", uid: "a", namespace: "test", attempt: 0 };
  const run = () =>
    runtime.runPodSandbox(RunPodSandboxRequest.create({ config: PodSandboxConfig.create({ metadata }) }), call);
  await t.rejects(run(), { message: /no address is left/ });
  const { items } = await runtime.listPodSandbox({}, call);
  t.match(items, [{ metadata, state: PodSandboxState.SANDBOX_NOTREADY }]);
  isBroken = false;
  await runtime.removePodSandbox({ podSandboxId: items[0]?.id ?? "" }, call);
  await t.rejects(run(), { message: /no address is left/ }, "its name is free again");
  t.same((await runtime.listPodSandbox({}, call)).items, []);
});
