// Image archives on a box with containerd: imported by its own client, compressed or not.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import t from "tap";
import { importByCtr } from "../../agent/assemble/containerd-import.ts";
import * as cri from "../../cri/api/gen/runtime.js";
import { openRemote } from "../../cri/remote/open.ts";
import { within } from "../../plugins/kit/base/call.ts";
import { startContainerd, withoutContainerd } from "../harness/containerd.ts";
import { busyboxEntries, dockerArchive, imageOf, layerOf, ociArchive } from "../harness/image-builder.ts";
import { until } from "../harness/until.ts";

t.test(
  "importByCtr() takes docker save and OCI layouts, compressed or not",
  { skip: withoutContainerd() },
  async (t) => {
    const containerd = await startContainerd(t, { images: [] });
    const { image, close } = openRemote({ socket: containerd.socket });
    t.teardown(() => close());
    const made = imageOf([layerOf(busyboxEntries())], { Env: ["PATH=/bin"], Cmd: ["sh"] });
    const name = (tag: string) => `skiff.test/archive:${tag}`;
    const rows: [file: string, bytes: Buffer, tag: string][] = [
      ["saved.tar", dockerArchive(made, [name("saved")]), "saved"],
      ["saved.tar.gz", gzipSync(dockerArchive(made, [name("gz")]), { level: 1 }), "gz"],
      ["layout.tar.zst", zstdCompressSync(ociArchive(made, name("zst"))), "zst"],
    ];
    for (const [file, bytes, tag] of rows) {
      const path = join(containerd.dir, file);
      writeFileSync(path, bytes);
      t.same(await importByCtr(containerd.socket, path, within(60_000)), [name(tag)], file);
      const request = cri.ImageStatusRequest.create({ image: { image: name(tag) } });
      await until(`CRI to list ${tag}`, async () => (await image.imageStatus(request, within(10_000))).image);
    }
    const rubbish = join(containerd.dir, "rubbish.tar");
    writeFileSync(rubbish, "this is no archive");
    await t.rejects(importByCtr(containerd.socket, rubbish, within(60_000)), { name: "Fault" });
  },
);
