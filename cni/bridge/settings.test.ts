// The bridge plugin's configuration: what it takes, and what it refuses in one line.

import t from "tap";
import type { PluginConfig } from "../spec/config.ts";
import { parseBridge } from "./settings.ts";

const parse = (more: object) =>
  parseBridge({ cniVersion: "1.0.0", name: "n", type: "bridge", ...more } as unknown as PluginConfig);

t.test("parseBridge() reads a trunk as ranges, in order and joined", async (t) => {
  t.equal(parse({}).trunk, undefined);
  t.same(parse({ vlanTrunk: [] }).trunk, []);
  t.same(
    parse({ vlanTrunk: [{ id: 300 }, { minID: 100, maxID: 102 }, { id: 103 }, { minID: 101, maxID: 101, id: 5 }] })
      .trunk,
    [
      { first: 5, last: 5 },
      { first: 100, last: 103 },
      { first: 300, last: 300 },
    ],
  );
});

t.test("parseBridge() leaves VLANs of a new port, and the pod's end, to the configuration", async (t) => {
  t.match(parse({}), { keepsDefaultVlan: false, isLeftDown: false });
  t.match(parse({ preserveDefaultVlan: true, disableContainerInterface: true }), {
    keepsDefaultVlan: true,
    isLeftDown: true,
  });
});

const wrong: [name: string, config: object, message: RegExp][] = [
  ["a VLAN that does not exist", { vlan: 4095 }, /vlan 4095 is not a number from 0 to 4094/],
  ["a trunk that is no list", { vlanTrunk: {} }, /vlanTrunk is not a list/],
  ["a number in a trunk", { vlanTrunk: [7] }, /vlanTrunk\[0\] is not an object/],
  ["half a range", { vlanTrunk: [{ minID: 5 }] }, /vlanTrunk\[0\] has minID without maxID/],
  ["the other half", { vlanTrunk: [{ id: 1 }, { maxID: 5 }] }, /vlanTrunk\[1\] has maxID without minID/],
  ["a range backwards", { vlanTrunk: [{ minID: 6, maxID: 5 }] }, /minID 6 is greater than maxID 5/],
  ["VLAN 0 in a trunk", { vlanTrunk: [{ id: 0 }] }, /vlanTrunk\[0\]\.id 0 is not a number from 1 to 4094/],
  [
    "addresses for an end that is left down",
    { disableContainerInterface: true, ipam: { type: "host-local" } },
    /disableContainerInterface and ipam exclude each other/,
  ],
];

for (const [name, config, message] of wrong)
  t.test(`parseBridge() refuses ${name}`, async (t) => {
    t.throws(() => parse(config), { cniCode: 7, message });
  });
