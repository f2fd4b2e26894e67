// Stands in for koffi in the bundle of the CNI programs: the same machine code without the wrapper around it, whose imports take
// longer than all that a program does. Where that is not found (another libc), koffi finds its own way.

import { createRequire } from "node:module";
import type Koffi from "koffi";

function load(): typeof Koffi {
  const require = createRequire(process.argv[1] ?? process.execPath);
  const { arch } = process;
  try {
    return require(`@koromix/koffi-linux-${arch}/linux_${arch}/koffi.node`) as typeof Koffi;
  } catch {
    return require("koffi") as typeof Koffi;
  }
}

export default load();
