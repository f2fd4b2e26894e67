import t from "tap";
import type { Incoming } from "./served-request.ts";
import { urlOf } from "./served-url.ts";

const asked = (host: string | undefined, url: string, socket: object = { encrypted: true }) =>
  urlOf({ url, headers: host === undefined ? {} : { host }, socket } as unknown as Incoming);

const rows = [
  {
    name: "a plain path",
    host: "a.b:6443",
    target: "/api/v1/pods?limit=5",
    url: "https://a.b:6443/api/v1/pods?limit=5",
  },
  { name: "dot segments, plain", host: "a:6443", target: "/api/../metrics", url: "https://a:6443/metrics" },
  { name: "dot segments, escaped", host: "a:6443", target: "/api/%2E%2e/metrics", url: "https://a:6443/metrics" },
  { name: "a host in capitals", host: "Box:6443", target: "/x", url: "https://box:6443/x" },
  { name: "an IPv6 address", host: "[fd00::1]:6443", target: "/x", url: "https://[fd00::1]:6443/x" },
  { name: "the same, spelt long", host: "[FD00:0:0::1]:6443", target: "/x", url: "https://[fd00::1]:6443/x" },
  { name: "a whole URL", host: "a", target: "http://b/x", url: "http://b/x" },
];
for (const { name, host, target, url } of rows)
  t.test(`urlOf() reads ${name}`, async (t) => t.equal(asked(host, target), url));

const refused = [
  { name: "no host", host: undefined, target: "/x" },
  { name: "no path", host: "a", target: "*" },
  { name: "a backslash", host: "a", target: "/x\\..\\y" },
  { name: "a host that holds a path", host: "a/b", target: "/x" },
  { name: "a host that holds a user", host: "u@a", target: "/x" },
  { name: "a bracket that never ends", host: "[::1", target: "/x" },
];
for (const { name, host, target } of refused)
  t.test(`urlOf() refuses ${name}`, async (t) => t.throws(() => asked(host, target), { code: "invalid" }));
