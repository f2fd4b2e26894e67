import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import t from "tap";
import { uninterrupted as call } from "../../../plugins/kit/base/call.ts";
import { tarOf } from "../../../test/harness/image-builder.ts";
import { LayerStore } from "./layer-store.ts";

const diffId = `sha256:${"0".repeat(64)}`;
const limits = { entries: 10, bytes: 1 << 20 };
const bombBytes = 64 << 20;

/** What grows a thousandfold: zeros behind the end of an archive, and zeros in a file that says it is that large. */
const bombs: Record<string, Buffer> = {
  "zeros behind the archive": Buffer.concat([tarOf([{ name: "a", content: "x" }]), Buffer.alloc(bombBytes)]),
  "a large file": tarOf([{ name: "a", content: Buffer.alloc(bombBytes) }]),
};

for (const [name, plain] of Object.entries(bombs))
  for (const [form, packed] of [
    ["gzip", gzipSync(plain)],
    ["zstd", zstdCompressSync(plain)],
  ] as const)
    t.test(`LayerStore stops at a layer of ${name}, packed by ${form}`, async (t) => {
      const root = mkdtempSync(join(tmpdir(), "skiff-layers-"));
      t.teardown(() => rmSync(root, { recursive: true, force: true }));
      const layers = new LayerStore({ root, limits, durable: false });
      const source = async function* () {
        yield packed;
      };
      await t.rejects(layers.ensure(diffId, source, call), { code: "invalid", message: /larger than/ });
      t.same(readdirSync(join(root, "l")), [], "nothing is left");
    });
