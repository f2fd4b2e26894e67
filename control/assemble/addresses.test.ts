import t from "tap";
import { serverAddresses } from "./addresses.ts";

t.test("serverAddresses() takes what it is told before what it finds", async (t) => {
  const own = ["192.0.2.1", "2001:db8::1"];
  t.same(serverAddresses(undefined, own), { address: "192.0.2.1", all: own });
  t.same(serverAddresses("192.0.2.9", own), { address: "192.0.2.9", all: ["192.0.2.9", ...own] });
  t.same(serverAddresses("192.0.2.1,2001:db8::1", own), { address: "192.0.2.1", all: own }, "one of each family");
  t.same(serverAddresses("", []), { address: "127.0.0.1", all: [] });
});
