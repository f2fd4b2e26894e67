import t from "tap";
import type { Incoming } from "./served-request.ts";
import { targetOf, urlOf } from "./served-url.ts";

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
  { name: "dots in a query", host: "a:6443", target: "/x?y=/../%2e", url: "https://a:6443/x?y=/../%2e" },
  { name: "dots before a query", host: "a:6443", target: "/x/..?y=/../z", url: "https://a:6443/?y=/../z" },
  { name: "a host in capitals", host: "Box:6443", target: "/x", url: "https://box:6443/x" },
  { name: "an IPv4 address", host: "10.0.0.255:6443", target: "/x", url: "https://10.0.0.255:6443/x" },
  { name: "a high port", host: "a1.b-2.c3:65535", target: "/x", url: "https://a1.b-2.c3:65535/x" },
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
  { name: "a name that ends in a number", host: "a-.1", target: "/x" },
  { name: "an IPv4 address beyond bytes", host: "256.1.1.1:6443", target: "/x" },
  { name: "an IPv4 address of three numbers", host: "10.0.1", target: "/x" },
  { name: "a port beyond ports", host: "a:99999", target: "/x" },
];
for (const { name, host, target } of refused)
  t.test(`urlOf() refuses ${name}`, async (t) => t.throws(() => asked(host, target), { code: "invalid" }));

t.test("targetOf() keeps what was sent", async (t) => {
  for (const [url, target] of [
    ["/api/../metrics?a=b", "/api/../metrics?a=b"],
    ["/api/%2E%2e/x", "/api/%2E%2e/x"],
    ["//api//v1/", "//api//v1/"],
    ["/x#y", "/x%23y"],
    ["/\u00c3\u00a9", "/%c3%a9"],
    ["https://host:1/x/..?y", "/x/..?y"],
    ["https://host", ""],
  ] as const)
    t.equal(targetOf({ url }), target, url);
});
