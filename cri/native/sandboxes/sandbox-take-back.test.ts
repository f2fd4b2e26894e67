import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { networkLists } from "../../../cni/invoke/network-lists.ts";
import { within } from "../../../plugins/kit/base/call.ts";
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

t.test("a sandbox whose network list is wrong leaves nothing behind", { skip: withoutNative() }, async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "skiff-wrong-list-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const list = (text: string) => writeFileSync(join(dir, "10-net.conflist"), text);
  const network = networkLists({ confDir: dir, binDirs: [], cacheDir: join(dir, "cache") });
  const native = await startNative(t, { changes: { network } });
  const { runtime } = native.current();
  const call = within(60_000);
  const run = (name: string) => {
    const metadata = { name, uid: name, namespace: "test", attempt: 0 };
    return runtime.runPodSandbox(RunPodSandboxRequest.create({ config: PodSandboxConfig.create({ metadata }) }), call);
  };
  for (const [name, text] of [
    ["mtu", '{"name":"n","plugins":[{"type":"bridge","mtu":1}]}'],
    ["plugin", '{"name":"n","plugins":[{"type":"no-such-plugin"}]}'],
    ["text", "{"],
  ] as const) {
    list(text);
    await t.rejects(run(name), { code: /invalid/ }, name);
    t.same((await runtime.listPodSandbox({}, call)).items, [], name);
  }
  list('{"name":"n","plugins":[{"type":"loopback"}]}');
  const id = (await run("later")).podSandboxId;
  list("{");
  await runtime.stopPodSandbox({ podSandboxId: id }, call);
  await runtime.removePodSandbox({ podSandboxId: id }, call);
  t.same((await runtime.listPodSandbox({}, call)).items, []);
});
