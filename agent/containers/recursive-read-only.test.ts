import t from "tap";
import type { VolumeMount } from "../../plugins/kit/kube/objects/types.ts";
import { isRecursiveReadOnly } from "./recursive-read-only.ts";

const rows: { name: string; mount: Partial<VolumeMount>; isSupported?: boolean; expect: boolean | RegExp }[] = [
  { name: "is off unless asked for", mount: { readOnly: true }, expect: false },
  { name: "is off when said so", mount: { readOnly: true, recursiveReadOnly: "Disabled" }, expect: false },
  { name: "is on where asked for", mount: { readOnly: true, recursiveReadOnly: "Enabled" }, expect: true },
  { name: "is on where possible", mount: { readOnly: true, recursiveReadOnly: "IfPossible" }, expect: true },
  {
    name: "is off where it is not possible",
    mount: { readOnly: true, recursiveReadOnly: "IfPossible" },
    isSupported: false,
    expect: false,
  },
  {
    name: "fails where it must be and the runtime cannot",
    mount: { readOnly: true, recursiveReadOnly: "Enabled" },
    isSupported: false,
    expect: /volume "v" requested recursive read-only mode, but it is not supported by the runtime/,
  },
  {
    name: "fails on a mount that is written to",
    mount: { recursiveReadOnly: "IfPossible" },
    expect: /but it is not read-only/,
  },
  {
    name: "fails with propagation",
    mount: { readOnly: true, recursiveReadOnly: "IfPossible", mountPropagation: "HostToContainer" },
    expect: /but it is not compatible with propagation "HostToContainer"/,
  },
];

for (const { name, mount, isSupported = true, expect } of rows) {
  t.test(`isRecursiveReadOnly() ${name}`, async (t) => {
    const ask = () => isRecursiveReadOnly({ name: "v", mountPath: "/v", ...mount }, isSupported);
    if (typeof expect === "boolean") t.equal(ask(), expect);
    else t.throws(ask, expect);
  });
}
