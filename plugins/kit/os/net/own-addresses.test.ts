import t from "tap";
import { findAddresses, hasDefaultRoute, nodeAddresses } from "./own-addresses.ts";

const info = (address: string) =>
  ({ address, family: address.includes(":") ? "IPv6" : "IPv4", internal: address.startsWith("127.") }) as never;

/** Links in the order given: `name` or `name kind` or `name kind master`. */
const linksOf = (...wished: string[]) => {
  const split = wished.map((text) => text.split(" "));
  const indexOf = (name: string | undefined) => split.findIndex(([other]) => other === name) + 1;
  return () =>
    split.map(([name = "", kind = "", master]) => ({
      index: indexOf(name),
      name,
      kind: kind === "-" ? "" : kind,
      master: indexOf(master),
      isLoopback: name === "lo",
    }));
};

t.test("nodeAddresses() prefers what was said, then the default route", async (t) => {
  const interfaces = () => ({
    docker0: [info("172.17.0.1")],
    eth0: [info("10.0.0.5"), info("fe80::1"), info("fd00::5")],
    wlan0: [info("192.168.1.5")],
  });
  const links = linksOf("lo", "docker0 bridge", "eth0", "wlan0");
  const routes = () =>
    "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\nwlan0\t00000000\t0101A8C0\t3\t0\t0\t600\t00000000\n";
  t.same(nodeAddresses(["1.2.3.4"], { interfaces, links, routes }), ["1.2.3.4"]);
  t.same(nodeAddresses([], { interfaces, links, routes }), ["192.168.1.5"]);
  t.same(
    nodeAddresses([], { interfaces, links, routes: () => "" }),
    ["10.0.0.5", "fd00::5"],
    "no default route: the first real interface",
  );
  t.same(nodeAddresses([], { interfaces: () => ({}), links, routes }), []);
  t.ok(hasDefaultRoute({ routes }));
  t.notOk(hasDefaultRoute({ routes: () => "" }));
  const from = "0".repeat(32);
  const line = (name: string) =>
    `${from} 00 ${from} 00 fe800000000000000000000000000001 00000400 1 0 00000003     ${name}\n`;
  t.same(
    nodeAddresses([], { interfaces, links, routes: () => "", routes6: () => line("wlan0") }),
    ["192.168.1.5"],
    "a default route of the other family counts, too",
  );
  t.ok(hasDefaultRoute({ routes: () => "", routes6: () => line("eth0") }));
  t.notOk(hasDefaultRoute({ routes: () => "", routes6: () => line("lo") }));
});

t.test("nodeAddresses() takes no device of containers for an uplink, whatever its name", async (t) => {
  const routes = () => "";
  const addressOf = (links: string[], addresses: Record<string, string>) => {
    const interfaces = Object.fromEntries(Object.entries(addresses).map(([name, ip]) => [name, [info(ip)]]));
    return nodeAddresses([], { links: linksOf(...links), interfaces: () => interfaces, routes })[0];
  };
  for (const [name, links, addresses, expected] of [
    [
      "the tunnel of an instance",
      ["lo", "skvx-12 vxlan", "wlan0"],
      { "skvx-12": "10.42.0.0", wlan0: "192.0.2.7" },
      "192.0.2.7",
    ],
    [
      "the same while the uplink has no carrier",
      ["lo", "skvx-12 vxlan", "eth0"],
      { "skvx-12": "10.42.0.0" },
      undefined,
    ],
    [
      "a bridge of containers with a renamed port",
      ["lo", "a0 bridge", "port0 veth a0", "eth0"],
      { a0: "172.17.0.1", eth0: "192.0.2.7" },
      "192.0.2.7",
    ],
    ["the user's bridge over an interface", ["lo", "br0 bridge", "eth0 - br0"], { br0: "192.0.2.7" }, "192.0.2.7"],
    [
      "a bridge of virtual machines",
      ["lo", "a0 bridge", "tap0 tun a0", "eth0"],
      { a0: "192.168.122.1", eth0: "192.0.2.7" },
      "192.0.2.7",
    ],
    ["a stranger's veth beside hardware", ["lo", "a0 veth", "eth0"], { a0: "10.9.0.1" }, undefined],
    ["the veth of a namespace", ["lo", "sk vxlan", "eth0 veth"], { sk: "10.42.0.0", eth0: "192.0.2.7" }, "192.0.2.7"],
    ["bonds and VLANs", ["lo", "eth0", "bond0 bond", "bond0.7 vlan"], { "bond0.7": "192.0.2.7" }, "192.0.2.7"],
    ["addresses of services", ["lo", "a0 dummy", "eth0"], { a0: "10.43.0.10", eth0: "192.0.2.7" }, "192.0.2.7"],
    ["VPNs", ["lo", "a0 wireguard", "b0 tun", "eth0"], { a0: "10.8.0.2", b0: "10.9.0.2" }, undefined],
  ] as const)
    t.equal(addressOf([...links], addresses), expected, name);
});

t.test("nodeAddresses() takes a VPN when the default route leaves by it", async (t) => {
  const routes = () =>
    "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\nwg0\t00000000\t0\t1\t0\t0\t0\t00000000\n";
  const interfaces = () => ({ eth0: [info("192.0.2.7")], wg0: [info("10.8.0.2")] });
  t.same(nodeAddresses([], { interfaces, links: linksOf("lo", "eth0", "wg0 wireguard"), routes }), ["10.8.0.2"]);
});

t.test(
  "findAddresses() has all that clients may come in by, and nothing that comes and goes with containers",
  async (t) => {
    const own = {
      lo: [info("127.0.0.1")],
      eth0: [info("10.0.0.5"), info("fe80::1"), info("fd00::5")],
      tun0: [info("10.8.0.2")],
    };
    const sources = { routes: () => "", links: linksOf("lo", "eth0", "tun0 tun"), interfaces: () => own };
    const quiet = findAddresses(sources);
    t.same(quiet, { own: ["10.0.0.5", "fd00::5"], all: ["10.0.0.5", "fd00::5", "10.8.0.2"] });
    const busy = { ...own, "br-1f": [info("172.18.0.1")], vethX: [info("10.9.0.1")], skiff0: [info("10.42.0.1")] };
    const links = linksOf("lo", "eth0", "tun0 tun", "br-1f bridge", "vethX veth", "p veth br-1f", "skiff0 bridge");
    t.same(findAddresses({ ...sources, links, interfaces: () => busy }), quiet);
  },
);
