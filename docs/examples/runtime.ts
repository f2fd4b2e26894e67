// A runtime: the one on a CRI socket, but for a pull of an image that is larger than this box wants, which it refuses at once.
// Whatever answers the calls of CRI can stand here; this one hands nearly all of them on.

import type { Runtime } from "../../cri/api/contract.ts";
import { openRemote } from "../../cri/remote/open.ts";
import type { Plugin } from "../../plugins/kit/mod.ts";

interface Settings {
  readonly socket: string;
  readonly refuse: readonly string[];
}

function careful(inner: Runtime, refuse: readonly string[]): Runtime {
  const image: Runtime["image"] = {
    ...inner.image,
    async pullImage(request, call) {
      const name = request.image?.image ?? "";
      if (refuse.some((start) => name.startsWith(start)))
        throw Object.assign(new Error(`Cannot pull ${name}: it is too large for this box`), {
          name: "Fault",
          code: "forbidden",
        });
      return inner.image.pullImage(request, call);
    },
  };
  return { ...inner, image, close: () => inner.close() };
}

export default {
  kind: { name: "runtime" },
  name: "careful",
  configure(raw) {
    const { socket = "/run/containerd/containerd.sock", refuse = [] } = (raw ?? {}) as Partial<Settings>;
    return { socket, refuse };
  },
  open({ settings, onClose }) {
    const runtime = careful(openRemote({ socket: settings.socket }), settings.refuse);
    onClose(() => runtime.close());
    return runtime;
  },
} satisfies Plugin<Runtime, Settings>;
