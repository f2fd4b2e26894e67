import t from "tap";
import { mustAnswer } from "./server-answers.ts";

t.test("mustAnswer() asks servers alone, and gives up on a silent one", async (t) => {
  const asked: string[] = [];
  const types = new Map([
    ["/share", "nfs4"],
    ["/disk", "ext4"],
  ]);
  const silent = (path: string) => new Promise<unknown>(() => void asked.push(path));
  await mustAnswer("/disk", { types, ask: silent });
  await mustAnswer("/plain", { types, ask: silent });
  t.same(asked, []);
  const refusal = { code: "unavailable", message: "Cannot use the volume at /share: its server does not answer" };
  await t.rejects(mustAnswer("/share", { types, ask: silent, withinMs: 1 }), refusal);
  await t.rejects(mustAnswer("/share", { types, ask: silent, withinMs: 1 }), refusal);
  t.same(asked, ["/share"], "who is silent is not asked again and again");
  types.set("/other", "nfs4");
  await mustAnswer("/other", { types, ask: async () => ({}) });
  await t.rejects(mustAnswer("/other", { types, ask: () => Promise.reject(new Error("stale")) }), /stale/);
});
