import t from "tap";
import type { StoreEntry } from "../../kit/contracts/store.ts";
import { LazyKeys } from "./lazy-keys.ts";

const entry = (revision: number): StoreEntry => ({
  key: "/lazy/a",
  value: new Uint8Array(),
  createRevision: 1,
  revision,
});

t.test("after a flush that failed the next one writes its keys anew, whatever the disk took", async (t) => {
  const lazy = new LazyKeys(["/lazy/"]);
  lazy.found("/lazy/a", 5);
  const refused = lazy.begin(() => entry(9), ["/lazy/a"]);
  t.match(refused, { rows: [{ revision: 9 }], removed: [5] });
  lazy.doubt(refused);
  t.same([...lazy.changed], ["/lazy/a"], "its value is still that of revision 5, whose row may be gone");
  const again = lazy.begin(() => entry(5), lazy.changed);
  t.match(again, { rows: [{ revision: 5 }], removed: [5] }, "removed first, so that it cannot be there twice");
  lazy.end(again);
  t.equal(lazy.hasChanged, false);
  t.match(
    lazy.begin(() => entry(5), ["/lazy/a"]),
    { rows: [], removed: [] },
  );
});

t.test("what is written already is no change", async (t) => {
  const lazy = new LazyKeys(["/lazy/"]);
  const flush = lazy.begin(() => entry(3), ["/lazy/a"]);
  lazy.end(flush);
  lazy.change("/lazy/a", 3);
  t.equal(lazy.hasChanged, false);
  lazy.change("/lazy/a", 4);
  t.equal(lazy.hasChanged, true);
  t.equal(lazy.hasNews, false);
  lazy.change("/lazy/a", undefined);
  t.equal(lazy.hasNews, true);
  lazy.change("/lazy/never-written", undefined);
  t.same([...lazy.changed], ["/lazy/a"]);
});
