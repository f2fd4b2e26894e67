import t from "tap";
import type { AnyPlugin } from "./plugin.ts";
import { chosenPlugin, pluginsFor, refuseUnknownKinds } from "./plugin-sides.ts";

const plugin = (kind: string, name: string): AnyPlugin => ({ kind: { name: kind }, name, open: () => ({}) });
const mine = [plugin("volume", "v"), plugin("score", "s"), plugin("runtime", "r"), plugin("store", "d")];

t.test("pluginsFor() gives each side what it opens by itself", async (t) => {
  t.same(
    pluginsFor("control", mine).map(({ name }) => name),
    ["s"],
  );
  t.same(
    pluginsFor("node", mine).map(({ name }) => name),
    ["v"],
  );
});

t.test("chosenPlugin() finds the one that a flag names", async (t) => {
  t.equal(chosenPlugin("runtime", "r", mine)?.name, "r");
  t.equal(chosenPlugin("store", "r", mine), undefined);
});

t.test("refuseUnknownKinds() names a kind that nobody opens", async (t) => {
  refuseUnknownKinds(mine);
  t.throws(() => refuseUnknownKinds([plugin("volum", "typo")]), {
    code: "invalid",
    message: /^Cannot use plugin "typo": its kind is "volum", and there is only store, .*volume/,
  });
});
