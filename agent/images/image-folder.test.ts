import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import { noLog } from "../../plugins/kit/base/log.ts";
import { until } from "../../test/harness/until.ts";
import { ImageFolder } from "./image-folder.ts";

function open(t: { teardown(then: () => Promise<void>): void }) {
  const dir = mkdtempSync(join(tmpdir(), "skiff-image-folder-"));
  const folder = join(dir, "images");
  mkdirSync(folder);
  const imported: string[] = [];
  /** Resolves when an import may go on; at once unless told. */
  const gate = { open: Promise.resolve() };
  const start = () => {
    const stop = new AbortController();
    const watched = new ImageFolder({
      folder,
      stateFile: join(dir, "imported.json"),
      async importArchive(path) {
        const name = path.slice(folder.length + 1);
        await gate.open;
        if (name.startsWith("bad")) throw new Error("not an archive");
        imported.push(name);
        return [name];
      },
      clock: systemClock,
      log: noLog,
    });
    const running = watched.run(stop);
    return async () => {
      stop.abort();
      await running;
    };
  };
  t.teardown(async () => rmSync(dir, { recursive: true, force: true }));
  return { folder, imported, gate, start };
}

t.test("ImageFolder imports what lies there, what appears, and nothing twice", async (t) => {
  const { folder, imported, start } = open(t);
  for (const name of ["a.tar", "b.tar.gz", "c.tar.zst", "notes.txt"]) writeFileSync(join(folder, name), name);
  const stop = start();
  await until("those that lay there", () => imported.length === 3);
  t.same(imported, ["a.tar", "b.tar.gz", "c.tar.zst"]);
  writeFileSync(join(folder, "d.tgz"), "new");
  await until("the one that appeared", () => imported.includes("d.tgz"));
  await stop();
  const again = start();
  writeFileSync(join(folder, "e.tar"), "later");
  await until("only the newest after a restart", () => imported.includes("e.tar"));
  t.equal(imported.length, 5);
  await again();
});

t.test("ImageFolder misses nothing that appears while it imports", async (t) => {
  const { folder, imported, gate, start } = open(t);
  const { promise, resolve } = Promise.withResolvers<void>();
  gate.open = promise;
  writeFileSync(join(folder, "slow.tar"), "1");
  const stop = start();
  writeFileSync(join(folder, "meanwhile.tar"), "2");
  resolve();
  await until("both", () => imported.includes("slow.tar") && imported.includes("meanwhile.tar"));
  await stop();
  t.pass();
});

t.test("ImageFolder goes on after a bad archive, and tries it again when it is replaced", async (t) => {
  const { folder, imported, start } = open(t);
  writeFileSync(join(folder, "bad.tar"), "rubbish");
  writeFileSync(join(folder, "good.tar"), "1");
  const stop = start();
  await until("the good one", () => imported.includes("good.tar"));
  rmSync(join(folder, "bad.tar"));
  writeFileSync(join(folder, "mended.tar"), "2");
  await until("the mended one", () => imported.includes("mended.tar"));
  await stop();
  t.same(imported, ["good.tar", "mended.tar"]);
});

t.test("ImageFolder lives through archives, and its whole folder, being taken away", async (t) => {
  const { folder, imported, gate, start } = open(t);
  const { promise, resolve } = Promise.withResolvers<void>();
  gate.open = promise;
  writeFileSync(join(folder, "bad.tar"), "rubbish");
  const stop = start();
  rmSync(folder, { recursive: true });
  resolve();
  await until("the folder to be there again", () => existsSync(folder));
  writeFileSync(join(folder, "later.tar"), "1");
  await until("what came later", () => imported.includes("later.tar"));
  await stop();
  t.same(imported, ["later.tar"]);
});
