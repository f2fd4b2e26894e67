import { parseNetworkList, parsePluginConfig } from "../../../cni/spec/config.ts";
import { parseResult, printResult } from "../../../cni/spec/result.ts";
import { supportedVersions } from "../../../cni/spec/version.ts";
import { attempt, check, type Target } from "../target.ts";

const fields = [
  "cniVersion",
  "interfaces",
  "ips",
  "routes",
  "dns",
  "address",
  "gateway",
  "interface",
  "dst",
  "gw",
  "mtu",
  "name",
  "mac",
  "sandbox",
  "plugins",
  "type",
  "nameservers",
  "cniVersions",
  "disableCheck",
  "__proto__",
].map((key) => `"${key}"`);
const words = [...fields, "{", "}", "[", "]", ":", ",", '"1.1.0"', '"10.0.0.1/24"', '"fd00::1/64"', "0", "null"];

export const cniResult: Target = {
  name: "CNI result",
  corpus: [
    '{"cniVersion":"1.1.0","interfaces":[{"name":"eth0","mac":"02:00:00:00:00:01","sandbox":"/run/n","mtu":1450}],"ips":[{"address":"10.0.0.2/24","gateway":"10.0.0.1","interface":0}],"routes":[{"dst":"0.0.0.0/0","gw":"10.0.0.1"}],"dns":{"nameservers":["10.0.0.10"]}}',
    '{"cniVersion":"0.3.1","ips":[{"version":"6","address":"fd00::2/64"}],"dns":{}}',
    '{"interfaces":null,"ips":[{}]}',
    "[]",
  ],
  words,
  run(input) {
    let raw: unknown;
    try {
      raw = JSON.parse(input.toString());
    } catch {
      return "no JSON";
    }
    return attempt(
      () => parseResult(raw),
      (result) => {
        for (const version of supportedVersions) {
          const printed = JSON.stringify(printResult(result, version));
          const again = JSON.stringify(printResult(parseResult(JSON.parse(printed)), version));
          check(again === printed, `a result of ${version} is read otherwise after it was printed`);
        }
        return `${Math.min(result.interfaces.length, 2)} ${Math.min(result.ips.length, 2)} ${Math.min(result.routes.length, 2)}`;
      },
    );
  },
};

export const cniConfig: Target = {
  name: "CNI configuration",
  corpus: [
    '{"cniVersion":"1.0.0","name":"pods","plugins":[{"type":"bridge","ipam":{"type":"host-local"}},{"type":"portmap"}]}',
    '{"cniVersion":"0.4.0","name":"one","type":"loopback"}',
    '{"name":"n","cniVersions":["0.3.1","1.1.0","9.9.9"],"plugins":[]}',
    '{"name":"../x","plugins":[{"type":"../../bin/sh"}]}',
  ],
  words: [...words, '"../x"'],
  run: (input) =>
    attempt(
      () => {
        parsePluginConfig(input.toString());
        return parseNetworkList(input.toString());
      },
      (list) => {
        for (const { type } of list.plugins) check(!type.includes("/"), `the plugin type ${type} is a path`);
        check(!list.name.includes("/"), `the network name ${list.name} is a path`);
        return `${list.cniVersion} ${Math.min(list.plugins.length, 3)}`;
      },
    ),
};
