import t from "tap";
import { headersOf, portOf, urlOf } from "./http-action.ts";

t.test("urlOf() goes to the pod unless a host is named", async (t) => {
  const target = { container: { name: "a", ports: [{ name: "web", containerPort: 80 }] }, podIp: "fd00::1" };
  t.equal(urlOf({ port: "web", path: "x?y=1" }, target).href, "http://[fd00::1]/x?y=1");
  t.equal(urlOf({ port: 8443, scheme: "HTTPS", host: "example.test" }, target).href, "https://example.test:8443/");
});

t.test("headersOf() and portOf()", async (t) => {
  t.notOk("accept" in headersOf({ port: 1, httpHeaders: [{ name: "Accept", value: "" }] }));
  t.equal(portOf("8080", { name: "a" }), 8080);
  t.throws(() => portOf(70_000, { name: "a" }), /invalid port/);
});
