import t from "tap";
import { FakeClock } from "../../plugins/kit/base/clock.ts";
import { OwnAddresses, serverAddresses } from "./addresses.ts";

t.test("serverAddresses() takes what it is told before what it finds", async (t) => {
  const all = ["192.0.2.1", "2001:db8::1"];
  const found = { own: [], all };
  t.same(serverAddresses(undefined, found), { address: "192.0.2.1", all });
  t.same(serverAddresses("192.0.2.9", found), { address: "192.0.2.9", all: ["192.0.2.9", ...all] });
  t.same(serverAddresses("192.0.2.1,2001:db8::1", found), { address: "192.0.2.1", all }, "one of each family");
  t.same(
    serverAddresses("", { own: ["2001:db8::1"], all }),
    { address: "2001:db8::1", all: ["2001:db8::1", "192.0.2.1"] },
    "the one that leads out is the one that others are told",
  );
  t.same(serverAddresses("", { own: [], all: [] }), { address: "127.0.0.1", all: [] });
});

t.test("OwnAddresses tells what changed, and keeps the last while there is none", async (t) => {
  const clock = new FakeClock();
  let all = ["192.0.2.1"];
  const own = new OwnAddresses("", () => ({ own: all, all }));
  const told: string[] = [];
  const end = own.follow(clock, ({ address }) => void told.push(address));
  await clock.advance(10_000);
  all = ["192.0.2.2"];
  await clock.advance(10_000);
  t.same([told, own.address], [["192.0.2.2"], "192.0.2.2"]);
  all = [];
  await clock.advance(10_000);
  t.same([told.length, own.address], [1, "192.0.2.2"], "nobody is told of an address that nobody can reach");
  all = ["192.0.2.2", "192.0.2.3"];
  await clock.advance(10_000);
  t.same([told.length, own.all], [2, all], "one more is news, too");
  end();
});
