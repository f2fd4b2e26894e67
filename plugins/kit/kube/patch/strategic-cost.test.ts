import t from "tap";
import { applyStrategicPatch } from "./strategic-patch.ts";

t.test(
  "applyStrategicPatch() looks at each element of a long list a few times, not at each for every other",
  async (t) => {
    let looks = 0;
    const owner = (uid: string) =>
      Object.defineProperty({ name: uid }, "uid", {
        enumerable: true,
        get: () => {
          looks++;
          return uid;
        },
      });
    const count = 5000;
    const owners = (from: number) => Array.from({ length: count }, (_, n) => owner(`u${from + n}`));
    const document = { metadata: { ownerReferences: owners(0) } };
    const order = Array.from({ length: count + 1 }, (_, n) => ({ uid: `u${n + count / 2 - 1}` }));
    const patch = { metadata: { ownerReferences: owners(count / 2), "$setElementOrder/ownerReferences": order } };
    const merged = applyStrategicPatch(document, patch, "v1/ConfigMap") as { metadata: { ownerReferences: unknown[] } };
    t.equal(merged.metadata.ownerReferences.length, count * 1.5);
    t.ok(looks < count * 30, `${looks} looks`);
  },
);

t.test("applyStrategicPatch() merges long lists of texts and keeps each once", async (t) => {
  const finalizers = (from: number) => Array.from({ length: 100_000 }, (_, n) => `example.com/${from + n}`);
  const merged = applyStrategicPatch(
    { metadata: { finalizers: finalizers(0) } },
    { metadata: { finalizers: finalizers(50_000), "$deleteFromPrimitiveList/finalizers": finalizers(0) } },
    "v1/ConfigMap",
  ) as { metadata: { finalizers: string[] } };
  t.equal(merged.metadata.finalizers.length, new Set(merged.metadata.finalizers).size);
});
