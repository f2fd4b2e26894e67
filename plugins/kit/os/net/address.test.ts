import fc from "fast-check";
import t from "tap";
import {
  addressBytes,
  addressFromBytes,
  contains,
  formatAddress,
  formatPrefix,
  lastAddress,
  networkOf,
  overlaps,
  parseAddress,
  parsePrefix,
  reverseName,
  tryAddress,
  tryPrefix,
} from "./address.ts";

t.test("tryAddress() refuses what only looks like an address", async (t) => {
  for (const text of [
    "",
    "1.2.3",
    "010.1.1.1",
    "1.2.3.256",
    "1.2.3.4.5",
    ":::",
    "1::2::3",
    "fe80::1%eth0",
    "1:2:3:4:5:6:7:8:9",
    "12345::",
    "1:2:3:4:5:6:7",
  ])
    t.equal(tryAddress(text), undefined, text);
});

t.test("formatAddress() writes the shortest form", async (t) => {
  for (const [from, to] of [
    ["0:0:0:0:0:0:0:1", "::1"],
    ["2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"],
    ["FD00:0:0:0::5", "fd00::5"],
    ["1:0:2:3:4:5:6:7", "1:0:2:3:4:5:6:7"],
    ["::ffff:10.0.0.1", "::ffff:10.0.0.1"],
    ["10.1.2.3", "10.1.2.3"],
  ] as const)
    t.equal(formatAddress(parseAddress(from)), to);
});

t.test("addresses survive bytes and text", async () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.uint8Array({ minLength: 4, maxLength: 4 }), fc.uint8Array({ minLength: 16, maxLength: 16 })),
      (bytes) => {
        const address = addressFromBytes(bytes);
        const back = parseAddress(formatAddress(address));
        return back.value === address.value && Buffer.from(addressBytes(back)).equals(Buffer.from(bytes));
      },
    ),
  );
});

t.test("prefixes know their network, their last address and what they hold", async (t) => {
  const prefix = parsePrefix("10.42.3.7/24");
  t.equal(formatPrefix(networkOf(prefix)), "10.42.3.0/24");
  t.equal(formatAddress(lastAddress(prefix)), "10.42.3.255");
  t.ok(contains(prefix, parseAddress("10.42.3.200")));
  t.notOk(contains(prefix, parseAddress("10.42.4.1")));
  t.notOk(contains(prefix, parseAddress("fd00::1")));
  t.ok(overlaps(prefix, parsePrefix("10.0.0.0/8")));
  t.notOk(overlaps(prefix, parsePrefix("10.43.0.0/16")));
  t.equal(tryPrefix("10.0.0.0/33"), undefined);
  t.equal(tryPrefix("10.0.0.0"), undefined);
});

t.test("reverseName() is where the PTR record stands", async (t) => {
  t.equal(reverseName(parseAddress("10.43.0.10")), "10.0.43.10.in-addr.arpa");
  t.equal(
    reverseName(parseAddress("fd00::1")),
    "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.f.ip6.arpa",
  );
});
