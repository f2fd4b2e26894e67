// The loopback plugin: brings "lo" up inside the namespace.

import { isFault } from "../../plugins/kit/base/fault.ts";
import type { Kernel, Space } from "../net/kernel.ts";
import { CniFault, cniCode } from "../spec/error.ts";
import type { NetworkPlugin, PluginArgs } from "../spec/plugin.ts";
import type { CniResult } from "../spec/result.ts";

export function loopbackPlugin(kernel: Kernel): NetworkPlugin {
  const inPod = async <T>(args: PluginArgs, work: (pod: Space) => Promise<T>): Promise<T> => {
    let pod: Space;
    try {
      pod = kernel.enter(args.netns);
    } catch (error) {
      throw new CniFault(cniCode.unknownContainer, `Cannot open the network namespace "${args.netns}"`, {
        cause: error,
      });
    }
    try {
      return await work(pod);
    } finally {
      pod.close();
    }
  };
  return {
    type: "loopback",
    add: (args) =>
      inPod(args, async (pod) => {
        const { index, mac } = await pod.getLink("lo");
        await pod.setLink(index, { up: true });
        if (args.previous) return args.previous;
        const hasSix = (await pod.listAddresses(index)).some(({ prefix }) => prefix.address.family === 6);
        return {
          interfaces: [{ name: "lo", mac, sandbox: args.netns }],
          ips: [{ address: "127.0.0.1/8", interface: 0 }, ...(hasSix ? [{ address: "::1/128", interface: 0 }] : [])],
          routes: [],
          dns: {},
        } satisfies CniResult;
      }),
    check: (args) =>
      inPod(args, async (pod) => {
        if (!(await pod.getLink("lo")).isUp) throw new CniFault(cniCode.internal, `"lo" is down in "${args.netns}"`);
      }),
    async del(args) {
      if (args.netns === "") return;
      try {
        await inPod(args, async (pod) => pod.setLink((await pod.getLink("lo")).index, { up: false }));
      } catch (error) {
        // The namespace is gone: so is its loopback.
        if (!isFault(error, "not-found")) throw error;
      }
    },
    async status() {},
    async gc() {},
  };
}
