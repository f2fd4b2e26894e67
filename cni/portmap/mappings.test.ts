import t from "tap";
import type { PluginConfig } from "../spec/config.ts";
import { parseMappings } from "./mappings.ts";
import { portElements } from "./rules.ts";
import { parsePrefix } from "../../plugins/kit/os/net/address.ts";

const config = (portMappings: unknown, extra = {}): PluginConfig => ({
  cniVersion: "1.0.0",
  name: "n",
  type: "portmap",
  runtimeConfig: { portMappings },
  ...extra,
});

t.test("parseMappings() reads any case of the field names and leaves out what asks for no host port", async (t) => {
  t.match(parseMappings(config([{ hostPort: 80, containerPort: 8080, protocol: "TCP" }, { containerPort: 9 }])), [
    { hostPort: 80, containerPort: 8080, protocol: "tcp", hostIp: undefined },
  ]);
  t.match(parseMappings(config([{ HostPort: 80, ContainerPort: 8080, Protocol: "udp", HostIP: "192.0.2.1" }])), [
    { hostPort: 80, protocol: "udp", hostIp: { family: 4 } },
  ]);
});

t.test("parseMappings() refuses what it cannot do", async (t) => {
  for (const [mapping, code] of [
    [{ hostPort: 70000, containerPort: 1 }, 7],
    [{ hostPort: 80 }, 7],
    [{ hostPort: 80, containerPort: 80, protocol: "icmp" }, 7],
    [{ hostPort: 80, containerPort: 80, hostIP: "nowhere" }, 7],
  ] as const)
    t.throws(() => parseMappings(config([mapping])), { name: "Fault", cniCode: code });
  t.throws(() => parseMappings(config([], { conditionsV4: ["-s", "10.0.0.0/8"] })), { name: "Fault", cniCode: 2 });
  t.throws(() => parseMappings(config({})), { name: "Fault", cniCode: 7 });
});

t.test("portElements() maps each family to the pod's address of that family", async (t) => {
  const mappings = parseMappings(
    config([
      { hostPort: 80, containerPort: 8080 },
      { hostPort: 53, containerPort: 53, protocol: "udp", hostIP: "192.0.2.1" },
    ]),
  );
  const elements = portElements(mappings, [parsePrefix("10.1.0.5/24"), parsePrefix("fd01::5/64")], true);
  t.same(
    elements.map(({ set, key, target }) => `${set} ${key} ${target ?? ""}`.trim()),
    [
      "any4 tcp . 80 10.1.0.5 . 8080",
      "host4 192.0.2.1 . udp . 53 10.1.0.5 . 53",
      "hairpin4 10.1.0.0/24 . 10.1.0.5",
      "any6 tcp . 80 fd01::5 . 8080",
      "hairpin6 fd01::/64 . fd01::5",
    ],
  );
});
