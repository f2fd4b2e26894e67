import { statfsSync } from "node:fs";
import t from "tap";
import { uninterrupted as call } from "../../base/call.ts";
import { askFileSystem } from "./file-system-use.ts";

t.test("askFileSystem() says what statfs says", async (t) => {
  const use = await askFileSystem("/", 30_000, call);
  const { bsize, blocks, files } = statfsSync("/");
  t.equal(use.capacityBytes, bsize * blocks);
  t.equal(use.inodes, files);
  t.ok(use.usedBytes > 0 && use.usedBytes <= use.capacityBytes);
  t.ok(use.availableBytes <= use.capacityBytes);
  await t.rejects(askFileSystem("/absent/path", 30_000, call), { code: "unavailable" });
});
