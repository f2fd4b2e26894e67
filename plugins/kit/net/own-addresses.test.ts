import t from "tap";
import { hasDefaultRoute, nodeAddresses, reachableAddresses } from "./own-addresses.ts";

t.test("nodeAddresses() prefers what was said, then the default route", async (t) => {
  const info = (address: string, family: "IPv4" | "IPv6" = "IPv4") =>
    ({ address, family, internal: false, netmask: "", mac: "", cidr: null, scopeid: 0 }) as never;
  const interfaces = () => ({
    docker0: [info("172.17.0.1")],
    eth0: [info("10.0.0.5"), info("fe80::1", "IPv6"), info("fd00::5", "IPv6")],
    wlan0: [info("192.168.1.5")],
  });
  const routes = () =>
    "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\nwlan0\t00000000\t0101A8C0\t3\t0\t0\t600\t00000000\n";
  t.same(nodeAddresses(["1.2.3.4"], { interfaces, routes }), ["1.2.3.4"]);
  t.same(nodeAddresses([], { interfaces, routes }), ["192.168.1.5"]);
  t.same(
    nodeAddresses([], { interfaces, routes: () => "" }),
    ["10.0.0.5", "fd00::5"],
    "no default route: the first real interface",
  );
  t.same(nodeAddresses([], { interfaces: () => ({}), routes }), []);
  t.ok(hasDefaultRoute({ routes }));
  t.notOk(hasDefaultRoute({ routes: () => "" }));
  const from = "0".repeat(32);
  const line = (name: string) =>
    `${from} 00 ${from} 00 fe800000000000000000000000000001 00000400 1 0 00000003     ${name}\n`;
  t.ok(hasDefaultRoute({ routes: () => "", routes6: () => line("eth0") }));
  t.notOk(hasDefaultRoute({ routes: () => "", routes6: () => line("lo") }));
});

t.test("reachableAddresses() leaves out what only pods are reached by", async (t) => {
  const info = (address: string, internal = false) =>
    ({ address, family: address.includes(":") ? "IPv6" : "IPv4", internal, netmask: "", mac: "", cidr: null }) as never;
  const interfaces = {
    lo: [info("127.0.0.1", true)],
    docker0: [info("172.17.0.1")],
    skiff0: [info("10.42.0.1")],
    eth0: [info("10.0.0.5"), info("fe80::1"), info("fd00::5")],
    tun0: [info("10.8.0.2")],
  };
  t.same(reachableAddresses(interfaces), ["10.0.0.5", "fd00::5", "10.8.0.2"]);
});
