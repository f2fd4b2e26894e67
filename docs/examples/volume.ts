// A kind of volume: `flexVolume` with the driver example.dev/notes appears as a folder with one file for each of its options.

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin, VolumePlugin } from "../../plugins/kit/mod.ts";

const driver = "example.dev/notes";

const notes: VolumePlugin = {
  name: driver,
  supports: (volume) => volume.flexVolume?.driver === driver,
  // May be called again after a crash at any point, so each step can be repeated.
  async mount({ volume, path }) {
    mkdirSync(path, { recursive: true });
    for (const [name, text] of Object.entries(volume.flexVolume?.options ?? {})) writeFileSync(join(path, name), text);
  },
  // Knows nothing but the path, because it may run in another process than mount did.
  async unmount(path) {
    rmSync(path, { recursive: true, force: true });
  },
};

export default { kind: { name: "volume" }, name: driver, open: () => notes } satisfies Plugin<VolumePlugin>;
